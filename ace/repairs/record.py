"""Store the repairs that a finished task shows, and the lines that are no errors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import chain, islice

from django.db.models import Count, Q

from ace.models import AceRun, BannerLine, ObservedRepair
from ace.repairs import commands, cures, error_line, failed_call, masks, supply
from ace.repairs.cures import TaskRepair
from ace.repairs.failed_call import FailureKind
from ace.task.task import Task
from common.caller import Caller
from common.db import write
from memories.models import Memory
from projects.models import Project

# A line that stands in the successes of so many sessions says nothing about a failure. For
# the tasks of others, they are those of so many persons, or one of a key that may attest.
BANNER_SESSIONS, BANNER_PERSONS = 3, 2
MAX_BANNERS = 100  # lines of one task
MAX_SOURCE = 400  # characters of code or of a command
MAX_TIMES = 1_000  # of one cure in one task
KINDS_WITH_LINES = (FailureKind.SHELL, FailureKind.TOOL)


def store(run: AceRun, task: Task, caller: Caller) -> list[TaskRepair]:
    """Store the repairs of a run and its banners, and return the repairs.

    A second call stores nothing twice.
    """
    kinds = [(call, failed_call.classify(call)) for call in task.calls]
    failed = [call.result for call, kind in kinds if kind in KINDS_WITH_LINES]
    worked = [
        call.result
        for call, kind in kinds
        if kind is None and commands.speaks_for_itself(call.command)
    ]
    repairs = cures.find(task, find_banners(run.project, failed, caller))
    rows = _rows(run, task, repairs, caller)
    new_banners = _new_banners(run, worked, caller)
    if rows or new_banners:
        _insert(rows, new_banners)
    return repairs


def find_banners(
    project: Project, results: Iterable[str], caller: Caller
) -> frozenset[str]:
    """Return those of the masked lines that stand in the successes of enough sessions.

    They are sessions of the caller, or of several persons or a key that may attest.
    """
    lines = {
        line: digest(line)
        for result in results
        for line in map(masks.mask_error, error_line.clean_lines(result))
    }
    known = _find_known(project, lines.values(), caller) if lines else ()
    return frozenset(line for line, name in lines.items() if name in known)


def digest(text: str) -> str:
    """Return a short name of a text: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def session_of(run: AceRun) -> str:
    """Return the session of a run; a run of no known session is one of its own."""
    memory: Memory | None = run.memory
    named = str(run.request.get("session_id") or "")
    if not named and memory:
        of_scope = memory.scope_key if memory.scope_kind == "session" else ""
        named = memory.created_in_session_id or of_scope
    return (named or str(run.pk))[:255]


def machine_of(cwd: str, caller: Caller) -> str:
    """Return the digest of the machine on which a call ran.

    Without a known folder, the caller's person stands for the machine.
    """
    return digest(failed_call.machine_of(cwd) or caller.person)


@write
def _insert(rows: list[ObservedRepair], banners: list[BannerLine]) -> None:
    ObservedRepair.objects.bulk_create(rows, ignore_conflicts=True)
    BannerLine.objects.bulk_create(banners, ignore_conflicts=True)


def _find_known(
    project: Project, digests: Iterable[str], caller: Caller
) -> frozenset[str]:
    rows = BannerLine.objects.filter(project=project, digest__in=set(digests))
    counted = (
        rows.order_by()
        .values("digest")
        .annotate(
            sessions=Count("pk"),
            persons=Count("person", distinct=True),
            attested=Count("pk", filter=Q(run__is_attested=True)),
            own=Count("pk", filter=Q(person__in=caller.own_names)),
        )
    )
    is_shown = Q(persons__gte=BANNER_PERSONS) | Q(attested__gt=0)
    known = counted.filter(
        Q(own__gte=BANNER_SESSIONS) | Q(sessions__gte=BANNER_SESSIONS) & is_shown
    )
    return frozenset(known.values_list("digest", flat=True))


def _new_banners(
    run: AceRun, results: Iterable[str], caller: Caller
) -> list[BannerLine]:
    lines = chain.from_iterable(map(error_line.find_banners, results))
    digests = set(islice(dict.fromkeys(map(digest, lines)), MAX_BANNERS))
    if not digests:
        return []
    known = _find_known(run.project, digests, caller)
    session = digest(session_of(run))
    return [
        BannerLine(
            project=run.project,
            run=run,
            digest=each,
            session=session,
            person=caller.person,
        )
        for each in sorted(digests - known)
    ]


def _rows(
    run: AceRun, task: Task, repairs: Iterable[TaskRepair], caller: Caller
) -> list[ObservedRepair]:
    """Return a row for each cure of each signature; the last of equal ones has the words."""
    rows: dict[tuple[str, str, bool], ObservedRepair] = {}
    for repair in repairs:
        if repair.failure.kind not in failed_call.CURABLE:
            continue  # nothing is said of code and tests
        key = (repair.signature.digest, repair.cure, repair.has_worked)
        before = rows[key].times if key in rows else 0
        rows[key] = _row(run, task, repair, caller, times=min(before + 1, MAX_TIMES))
    return list(rows.values())


def _row(
    run: AceRun, task: Task, repair: TaskRepair, caller: Caller, *, times: int
) -> ObservedRepair:
    signature, call = repair.signature, repair.failure.call
    return ObservedRepair(
        project=run.project,
        run=run,
        signature=signature.digest,
        kind=repair.failure.kind,
        cure=repair.cure,
        has_worked=repair.has_worked,
        person=caller.person,
        session=session_of(run),
        machine=machine_of(call.cwd, caller) if signature.is_of_machine else "",
        times=times,
        seen={
            "tool": call.tool_name,
            "name": signature.name,
            "source": signature.source[:MAX_SOURCE],
            "failed": repair.failed,
            "worked": repair.worked,
            "is_sayable": repair.is_sayable,
            "is_sure": repair.is_sure,
            "leads_elsewhere": supply.leads_elsewhere(task, repair),
            "failed_call": call.index,
            "fixed_call": repair.fixed_index,
        },
    )
