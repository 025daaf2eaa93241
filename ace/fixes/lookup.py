"""Find the known fix of a failed call, if it may be said to the caller."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from access.models import ApiKey
from ace.fixes import (
    choice,
    cure_decisions,
    fix_text,
    fix_words,
    live_rule,
    record,
    silence,
)
from ace.fixes.choice import ChosenCure
from ace.fixes.fix_words import FixWords
from ace.fixes.silence import Silence
from ace.models import ObservedRepair
from ace.rules.failures import failed_call
from ace.rules.failures.failed_call import FailureSignature
from ace.rules.task import ToolCall
from common.caller import Caller
from memories.scopes import Scope
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import exposures
from projects.models import Project

# Repairs of one lookup, newest first.
MAX_ROWS = 500


@dataclass(frozen=True)
class KnownFix:
    """A fix: what cured the same failure before, and why it is not said, if it is not.

    `words` are those of one repair that the caller may be given. `entry` is the live rule
    that states the cure.
    """

    cure: ChosenCure
    words: FixWords
    is_own: bool
    entry: PlaybookEntry | None
    silence: Silence | None

    @property
    def text(self) -> str:
        return fix_text.write(self.cure, self.words)


def find(
    project: Project,
    call: ToolCall,
    caller: Caller,
    *,
    scope: Scope | None = None,
    agent_id: str = "",
) -> KnownFix | None:
    """Return the surest fix that may be said, and record that its entry was given."""
    agent_id = exposures.resolve_agent(caller, agent_id)
    fix = choose(suggest(project, call, caller, scope=scope))
    if fix:
        note_given(project, fix, caller, agent_id=agent_id)
    return fix


def choose(found: Iterable[KnownFix]) -> KnownFix | None:
    """Return the surest fix that may be said."""
    return next((each for each in found if each.silence is None), None)


def note_given(
    project: Project, fix: KnownFix, caller: Caller, *, agent_id: str
) -> None:
    """Record that the agent was given the rule that states the fix, if there is one."""
    if fix.entry:
        exposures.record(
            project,
            {fix.entry.pk: None},
            caller,
            source=Exposure.ExposureSource.CONTEXT,
            agent_id=agent_id,
        )


def suggest(
    project: Project,
    call: ToolCall,
    caller: Caller,
    *,
    scope: Scope | None = None,
    but_session: str = "",
) -> list[KnownFix]:
    """Return what is known against a failed call, the surest first, also what is not said.

    The repairs of `but_session` do not count: who asks there has made them.
    """
    signatures = _sign(project, call, caller)
    if not signatures:
        return []
    by_signature = _rows_by_signature(
        project, call, signatures, caller, scope, but_session
    )
    if not by_signature:
        return []
    keys = own_keys(caller)
    found = [
        fix
        for signature in signatures
        if (rows := by_signature.get(signature.digest))
        and (fix := _of_signature(project, signature, rows, caller, keys))
    ]
    if signatures[0].issue:  # the issues of a report are equally likely
        found.sort(key=lambda fix: fix.cure.certainty, reverse=True)
    return found


def _sign(project: Project, call: ToolCall, caller: Caller) -> list[FailureSignature]:
    """Return the names under which a failure may be known, the likeliest first.

    A line of earlier successes comes last: repairs may be known of it all the same.
    """
    failure = failed_call.read(call)
    if failure is None or failure.kind not in record.KINDS_WITH_LINES:
        return list(failure.signatures) if failure else []
    digests = record.digest_lines(call.result)
    banners = record.find_banners(project, digests, caller)
    likeliest = failed_call.read(call, banners) or failure
    return list(dict.fromkeys([*likeliest.signatures, *failure.signatures]))


def _rows_by_signature(
    project: Project,
    call: ToolCall,
    signatures: Sequence[FailureSignature],
    caller: Caller,
    scope: Scope | None,
    but_session: str,
) -> dict[str, list[ObservedRepair]]:
    machine = record.machine_of(call.cwd, caller)
    rows = (
        ObservedRepair.objects.reachable(project, caller, scope)
        .filter(
            signature__in=[each.digest for each in signatures],
            machine__in=["", machine],
        )
        .select_related("run")
        .defer("run__request", "run__result", "run__phases")
    )
    if but_session:
        rows = rows.exclude(session=but_session)
    found: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in rows.order_by("-pk")[:MAX_ROWS]:
        found[row.signature].append(row)
    return found


def own_keys(caller: Caller) -> frozenset[uuid.UUID]:
    """Return the ids of the caller's key and of those that it replaced."""
    if caller.key_id is None:
        return frozenset()
    line: QuerySet[ApiKey] = ApiKey.objects.of_same_line(caller.key_id)
    return frozenset({caller.key_id, *line.values_list("pk", flat=True)})


def _of_signature(
    project: Project,
    signature: FailureSignature,
    rows: Sequence[ObservedRepair],
    caller: Caller,
    keys: frozenset[uuid.UUID],
) -> KnownFix | None:
    """Return the fix of the person's own repairs if it passes the gate, or else of all."""
    own = [
        row for row in rows if row.person in caller.own_names or row.run.key_id in keys
    ]
    cure = choice.choose(signature, own)
    if cure is None or not cure.is_alone:
        cure = choice.choose(signature, rows)
    if cure is None:
        return None
    if choice.has_failed_lately([row for row in own if row.cure == cure.newest.cure]):
        cure = replace(cure, has_failed_lately=True)
    mine = [row for row in cure.repairs if row in own]
    entry, trusted = live_rule.find(project, cure, caller)
    vouched = mine or trusted
    words = fix_words.choose(cure, trusted=vouched)
    reason = silence.find_reason(project, cure, words, is_vouched_for=bool(vouched))
    if reason is None and entry is None:
        repairs = [row for row in rows if row.cure == cure.newest.cure]
        decisions = cure_decisions.read(project, repairs, caller)
        reason = Silence.WITHDRAWN if decisions.are_against else None
    return KnownFix(
        cure=cure,
        words=words,
        is_own=bool(mine),
        entry=entry,
        silence=reason,
    )
