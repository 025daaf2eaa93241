"""Find the known fix of a failed call, if it may be said to the caller."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
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
    found = list(_newest(rows)) if signatures else []
    by_signature: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in found:
        by_signature[row.signature].append(row)
    own = own_repairs(found, caller)
    lessons = trust.read_lessons(project, found, caller)
    fixes = [
        describe_cure(project, cure, own, lessons.of(cure.uses))
        for signature in signatures
        if (cure := _choose_cure(signature, by_signature[signature.digest], own))
    ]
    if fixes and signatures[0].issue:  # the issues of a report are equally likely
        fixes.sort(key=lambda fix: fix.cure.certainty, reverse=True)
    return fixes


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


def own_repairs(
    rows: Sequence[ObservedRepair], caller: Caller
) -> frozenset[ObservedRepair]:
    """Return the repairs that the caller's own sessions showed, also by a replaced key."""
    keys = {caller.key_id} - {None}
    if caller.key_id and rows:
        line: QuerySet[ApiKey] = ApiKey.objects.of_same_line(caller.key_id)
        keys |= set(line.values_list("pk", flat=True))
    names = caller.own_names
    return frozenset(
        row for row in rows if row.person in names or row.run.key_id in keys
    )


def _choose_cure(
    signature: FailureSignature,
    rows: Sequence[ObservedRepair],
    own: Set[ObservedRepair],
) -> ChosenCure | None:
    """Return the cure of the person's own repairs if one is clear, or else that of all."""
    cure = trust.choose(signature, [row for row in rows if row in own])
    is_clear = cure and cure.share >= trust.MIN_SHARE
    return cure if is_clear else trust.choose(signature, rows)


def describe_cure(
    project: Project,
    cure: ChosenCure,
    own: Set[ObservedRepair],
    lessons: CureLessons,
) -> KnownFix:
    """Return the fix of a cure: own words, those of an accepted rule, or what two showed."""
    mine = [row for row in cure.repairs if row in own]
    trusted = mine or lessons.trusted
    words = trust.choose_words(cure, trusted)
    silence = trust.find_silence(project, cure, words)
    if silence is None and lessons.are_against:
        silence = Silence.WITHDRAWN
    own_uses = [use.has_worked for use in cure.uses if use in own]
    if silence is None and own_uses[:1] == [False]:
        silence = Silence.FAILED_SINCE
    return KnownFix(cure, words, bool(mine), lessons.entry, silence)
