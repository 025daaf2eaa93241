"""Find the known fix of a failed call, if it may be said to the caller."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from access.models import ApiKey
from ace.models import ObservedRepair
from ace.repairs import failed_call, fix_text, record, trust
from ace.repairs.failed_call import FailureSignature
from ace.repairs.trust import ChosenCure, CureLessons, FixWords, Silence
from ace.task.task import ToolCall
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

    `entry` is the live rule that states the cure.
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
    rows = ObservedRepair.objects.reachable(project, caller, scope).filter(
        signature__in=[each.digest for each in signatures],
        machine__in=["", record.machine_of(call.cwd, caller)],
    )
    rows = rows.exclude(session=but_session) if but_session else rows
    by_signature: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    if signatures:
        for row in _newest(rows):
            by_signature[row.signature].append(row)
    if not by_signature:
        return []
    keys = own_keys(caller)
    found = [
        fix
        for signature in signatures
        if (known := by_signature.get(signature.digest))
        and (fix := _of_signature(project, signature, known, caller, keys))
    ]
    if signatures[0].issue:  # the issues of a report are equally likely
        found.sort(key=lambda fix: fix.cure.certainty, reverse=True)
    return found


def _newest(rows: QuerySet[ObservedRepair]) -> QuerySet[ObservedRepair]:
    light = rows.select_related("run").defer("run__request", "run__result", "run__phases")  # fmt: skip
    return light.order_by("-pk")[:MAX_ROWS]


def _sign(project: Project, call: ToolCall, caller: Caller) -> list[FailureSignature]:
    """Return the names under which a failure may be known, the likeliest first.

    A line of earlier successes comes last: repairs may be known of it all the same.
    """
    failure = failed_call.read(call)
    if failure is None or failure.kind not in record.KINDS_WITH_LINES:
        return list(failure.signatures) if failure else []
    banners = record.find_banners(project, [call.result], caller)
    likeliest = failed_call.read(call, banners) or failure
    return list(dict.fromkeys([*likeliest.signatures, *failure.signatures]))


def own_keys(caller: Caller) -> frozenset[uuid.UUID]:
    """Return the ids of the caller's key and of those that it replaced."""
    if caller.key_id is None:
        return frozenset()
    line: QuerySet[ApiKey] = ApiKey.objects.of_same_line(caller.key_id)
    return frozenset({caller.key_id, *line.values_list("pk", flat=True)})


def own_repairs(
    rows: Iterable[ObservedRepair], caller: Caller, keys: frozenset[uuid.UUID]
) -> list[ObservedRepair]:
    """Return the repairs that the caller's own sessions showed."""
    names = caller.own_names
    return [row for row in rows if row.person in names or row.run.key_id in keys]


def _of_signature(
    project: Project,
    signature: FailureSignature,
    rows: Sequence[ObservedRepair],
    caller: Caller,
    keys: frozenset[uuid.UUID],
) -> KnownFix | None:
    """Return the fix of the person's own repairs if one is clear, or else that of all."""
    own = own_repairs(rows, caller, keys)
    cure = trust.choose(signature, own)
    if cure is None or cure.share < trust.MIN_SHARE:
        cure = trust.choose(signature, rows)
    if cure is None:
        return None
    lessons = trust.read_lessons(project, cure.uses, caller)
    return of_cure(project, cure, own, lessons)


def of_cure(
    project: Project,
    cure: ChosenCure,
    own: Sequence[ObservedRepair],
    lessons: CureLessons,
) -> KnownFix:
    """Return the fix of a cure: own words, those of an accepted rule, or what two showed."""
    mine = [row for row in cure.repairs if row in own]
    trusted = mine or [row for row in cure.repairs if row in lessons.trusted]
    words = trust.choose_words(cure, trusted)
    silence = trust.find_silence(project, cure, words)
    if silence is None and lessons.are_against:
        silence = Silence.WITHDRAWN
    own_uses = [use.has_worked for use in cure.uses if use in own]
    if silence is None and own_uses[:1] == [False]:
        silence = Silence.FAILED_SINCE
    return KnownFix(cure, words, bool(mine), lessons.entry, silence)
