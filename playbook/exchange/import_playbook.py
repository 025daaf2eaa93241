"""Import a playbook as deltas.

The deltas wait for a person, no matter who imports the playbook.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from django.db.models import QuerySet

from common import errors
from common.caller import Caller, Role
from common.text import plain_text as texts
from common.text import secrets
from playbook.exchange import ace_format, import_plan, managed_block, markdown_list
from playbook.exchange.ace_format import ParsedPlaybook, UnparsedLine
from playbook.lessons import intake
from playbook.lessons.draft import Draft, Producer
from playbook.models import PlaybookDelta
from projects.models import Project

Format = Literal["ace", "agents-md", "markdown"]
FORMATS = ("ace", "agents-md", "markdown")
# A trained playbook has 300 lines and 120 KB. These limits are ten times as large.
MAX_BYTES = 1024 * 1024
MAX_LINES = 5_000
CHUNK = 50  # deltas written under one lock of the playbook
MAX_SHOWN = 200  # characters of an unparsed line


class TooManyLines(errors.Refusal):
    """The playbook has too many lines for one import; send it in parts."""

    status: ClassVar[int] = 413
    code = "too_many_lines"


@dataclass(frozen=True)
class DeltaCount:
    """The number of deltas with one operation and status.

    `known` is the number of these deltas that existed before the import.
    """

    operation: str
    status: str
    count: int
    known: int


@dataclass(frozen=True)
class ImportResult:
    """The result of an import; `waiting` are the ids of the deltas to decide."""

    deltas: tuple[DeltaCount, ...] = ()
    waiting: tuple[uuid.UUID, ...] = ()
    unparsed: tuple[UnparsedLine, ...] = ()
    notes: tuple[str, ...] = ()


def import_text(
    project: Project,
    content: str,
    caller: Caller,
    *,
    format: Format,
    category: str = "",
    producer: str = Producer.MODEL,
    producer_name: str = "",
) -> ImportResult:
    """Turn a playbook into waiting deltas. Repeating an import creates no second delta.

    Raises TooLarge, TooManyLines, Invalid, and the errors of `managed_block`.
    """
    caller.require(Role.WRITER, project.pk)
    if problem := texts.find_unstorable(content):
        raise errors.Invalid(errors={"content": [f"It {problem}."]})
    parsed = _parse(content, format)
    plan = import_plan.build_plan(
        project,
        parsed.lines,
        category=category,
        is_whole=format == "ace",
        producer=producer,
        producer_name=(producer_name or caller.name)[:100],
        agent_id=caller.agent_id,
    )
    return _submit_plan(project, plan, parsed, caller)


def _parse(content: str, format: Format) -> ParsedPlaybook:
    if len(content.encode()) > MAX_BYTES:
        raise errors.TooLarge("A playbook is 1 MiB at most; send it in parts.")
    if len(ace_format.split_lines(content)) > MAX_LINES:
        raise TooManyLines(
            f"A playbook has {MAX_LINES:,} lines at most; send it in parts."
        )
    if format == "markdown":
        return markdown_list.parse(content)
    if format == "agents-md":
        content = managed_block.read_rules(content)
    return ace_format.parse(content)


def _submit_plan(
    project: Project,
    plan: import_plan.ImportPlan,
    parsed: ParsedPlaybook,
    caller: Caller,
) -> ImportResult:
    keys = [draft.delta.idempotency_key for draft in plan.drafts]
    known = set(
        _deltas_with_keys(project, keys).values_list("idempotency_key", flat=True)
    )
    new = [each for each in plan.drafts if each.delta.idempotency_key not in known]
    _submit_in_chunks(project, new, caller)
    deltas = list(_deltas_with_keys(project, keys).order_by("pk"))
    waits = [delta.pk for delta in deltas if delta.status == delta.DeltaStatus.PENDING]
    unparsed = sorted([*parsed.unparsed, *plan.unparsed], key=lambda each: each.line)
    return ImportResult(
        deltas=tuple(_counts(deltas, known)),
        waiting=tuple(waits),
        unparsed=tuple(_shorten(line) for line in unparsed),
        notes=(*parsed.notes, *plan.notes),
    )


def _submit_in_chunks(
    project: Project, drafts: Sequence[Draft], caller: Caller
) -> None:
    """Submit the drafts in chunks, with one transaction for each chunk.

    Other writers therefore wait only briefly for the lock.
    """
    prepared = intake.prepare(project, drafts, caller)
    for start in range(0, len(drafts), CHUNK):
        chunk = prepared.drafts[start : start + CHUNK]
        intake.file(replace(prepared, drafts=chunk))


def _deltas_with_keys(project: Project, keys: Sequence[str]) -> QuerySet[PlaybookDelta]:
    return PlaybookDelta.objects.filter(project=project, idempotency_key__in=keys)


def _counts(deltas: Sequence[PlaybookDelta], known: set[str]) -> Iterator[DeltaCount]:
    totals = Counter((delta.operation, delta.status) for delta in deltas)
    before = Counter(
        (delta.operation, delta.status)
        for delta in deltas
        if delta.idempotency_key in known
    )
    for (operation, status), count in sorted(totals.items()):
        yield DeltaCount(operation, status, count, before[operation, status])


def _shorten(line: UnparsedLine) -> UnparsedLine:
    """Shorten a line and mask its secrets.

    The response with the line is stored under an Idempotency-Key.
    """
    return replace(line, text=texts.clip(secrets.mask(line.text).text, MAX_SHOWN))
