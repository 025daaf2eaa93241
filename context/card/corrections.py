"""Propose to people what the repository's own instructions should say instead.

Nothing is written into a repository. A correction waits in the inbox as a delta that changes no
entry; if a person accepts it, the card says it until the file changes, and if a person rejects
it, neither the inbox nor the card shows it again.
"""

from __future__ import annotations

import hashlib
import posixpath
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q

from ace.models import TaskFile
from ace.rules.instruction_lines import InstructionLine
from common.caller import Caller
from common.text.quote import json_string
from context.card import card_rows, wrong_lines
from context.card.wrong_lines import WrongLine
from playbook.models import PlaybookDelta
from playbook.proposals import submission
from playbook.proposals.proposed_change import Operation, Producer, Proposal
from playbook.queries import DeltaQuerySet
from playbook.review import delta_review
from projects.models import Project

NAME, VERSION = "instructions", "1"
MAX_RUNS = 20  # the newest runs that a correction names
MAX_QUOTE = 300  # characters of a line in the reason
FILE_CHANGED = "The file no longer says it."
Status = PlaybookDelta.DeltaStatus


def propose(project: Project, caller: Caller) -> list[PlaybookDelta]:
    """Propose a correction of each refuted line, and mark those stale whose file changed.

    Return the delta of each line, also if a person decided about it before.
    """
    rows = card_rows.read(project, caller)
    found = wrong_lines.find(rows)
    proposals = [_proposal(project, wrong, caller) for wrong in found]
    deltas = submission.propose(project, proposals, caller)
    said = _places(rows.lines)
    for delta in _corrections(project, caller).pending():
        if _place(delta) not in said:
            delta_review.mark_stale(delta, caller, FILE_CHANGED)
    return deltas


def decide(
    project: Project,
    found: Sequence[WrongLine],
    lines: Iterable[InstructionLine],
    caller: Caller,
) -> list[WrongLine]:
    """Leave out the lines whose correction was rejected, and add the accepted ones.

    An accepted correction is left out once the file no longer has its line.
    """
    said = _places(lines)
    by_key = {_key(project, wrong.line.path, wrong.named): wrong for wrong in found}
    decided = _corrections(project, caller).filter(
        Q(status__in=PlaybookDelta.IN_FORCE)
        | Q(status=Status.REJECTED, idempotency_key__in=by_key)
    )
    kept = dict(by_key)
    for delta in decided:
        if delta.status == Status.REJECTED:
            kept.pop(delta.idempotency_key)
        elif _place(delta) in said:
            kept.setdefault(delta.idempotency_key, _to_wrong_line(delta))
    return sorted(kept.values(), key=lambda each: (-each.sessions, each.named))


def _corrections(project: Project, caller: Caller) -> DeltaQuerySet:
    deltas: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller).filter(
        project=project, operation=Operation.CORRECT
    )
    return deltas


def _places(lines: Iterable[InstructionLine]) -> set[tuple[str, str]]:
    return {(line.path, line.text) for line in lines}


def _place(delta: PlaybookDelta) -> tuple[str, str]:
    correction = _read(delta)
    return str(correction.get("file", "")), str(correction.get("line", ""))


def _read(delta: PlaybookDelta) -> dict[str, Any]:
    return dict(delta.payload.get("correction") or {})


def _proposal(project: Project, wrong: WrongLine, caller: Caller) -> Proposal:
    path = wrong.line.path
    return Proposal(
        operation=Operation.CORRECT,
        reason=write_reason(wrong),
        correction={
            "file": path,
            "line": wrong.line.text,
            "replacement": wrong.replacement,
            "named": wrong.named,
            "right": wrong.right,
            "trouble": wrong.trouble,
            "sessions": wrong.sessions,
            "runs": [str(run) for run in wrong.runs[:MAX_RUNS]],
            "sources": _sources(project, wrong, caller),
        },
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=_key(project, path, wrong.named),
    )


def _sources(project: Project, wrong: WrongLine, caller: Caller) -> list[str]:
    """Return all runs whose text the correction quotes; a purge of one erases it.

    The right path is a part of what was looked for, or a path of the same name that runs
    used.
    """
    found = set(wrong.sources)
    if posixpath.basename(wrong.right) == posixpath.basename(wrong.named):
        files = TaskFile.objects.in_reach(caller).filter(
            Q(path=wrong.right) | Q(path__startswith=f"{wrong.right}/"), project=project
        )
        found |= set(files.values_list("run", flat=True))
    return sorted(map(str, found))


def write_reason(wrong: WrongLine) -> str:
    """Say in one sentence what the file should say instead, and why."""
    path, line = json_string(wrong.line.path), json_string(wrong.line.text, MAX_QUOTE)
    change = f"correct {line}"
    if wrong.replacement:
        change = f"replace {line} by {json_string(wrong.replacement, MAX_QUOTE)}"
    named = json_string(wrong.named, MAX_QUOTE)
    return f"In {path}, {change}: {named} {wrong.trouble} in {wrong.sessions} sessions."


def _key(project: Project, path: str, named: str) -> str:
    """Return the key of what a file says, so that a person decides about it once."""
    whole = "\n".join([Operation.CORRECT, str(project.pk), path, named])
    return hashlib.sha256(whole.encode()).hexdigest()


def _to_wrong_line(delta: PlaybookDelta) -> WrongLine:
    said = _read(delta)
    return WrongLine(
        line=InstructionLine(said["file"], 0, said["line"]),
        named=said["named"],
        right=said["right"],
        sessions=said["sessions"],
        runs=tuple(map(uuid.UUID, said["runs"])),
        trouble=said["trouble"],
    )
