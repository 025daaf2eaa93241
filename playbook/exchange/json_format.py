"""Read and write a playbook with its history as JSON.

The same rows always give the same bytes. Rows refer to each other by label, by place in
the history and by number. Rows do not refer to ids, so that another project can restore
the history.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from typing import Annotated, Any, Literal

from django.utils.dateparse import parse_datetime
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from common import errors
from common.text import plain_text as texts
from common.text import storable_json
from common.text.quote import exact_json
from playbook.exchange.ace_format import RuleLine
from playbook.history.revision import LATER_COLUMNS
from playbook.rule_text import applicability

FORMAT = "agent-memory-playbook"
VERSION = 1
MAX_INTEGER = 2**31 - 1
MAX_PROBLEMS = 20  # largest number of problems that one refusal lists


class BrokenHistory(errors.Refusal):
    """The text is not an exported playbook, or its entries do not follow from its history."""

    code = "broken_history"


def _moment(value: str) -> str:
    found = parse_datetime(value)
    if found is None or found.tzinfo is None:
        raise ValueError("no moment with a time zone")
    if found.astimezone(UTC).isoformat() != value:
        raise ValueError("no moment in UTC, such as 2026-01-31T09:00:00+00:00")
    return value


def _storable(value: str) -> str:
    if problems := texts.find_unstorable(value):
        raise ValueError(problems)
    return value


def _small(value: dict[str, Any]) -> dict[str, Any]:
    json.dumps(value, allow_nan=False)
    if storable_json.find_unstorable(value) is not None:
        raise ValueError("contains a NUL byte (U+0000) or a lone surrogate")
    return value


Text = Annotated[str, AfterValidator(_storable)]
Label = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,40}-[0-9]{5,10}$")]
Category = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Moment = Annotated[str, AfterValidator(_moment)]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Number = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Short = Annotated[Text, Field(max_length=64)]
NameText = Annotated[Text, Field(max_length=200)]
Agent = Annotated[Text, Field(max_length=255)]
Long = Annotated[Text, Field(max_length=1_000)]
RuleText = Annotated[Text, Field(max_length=20_000)]
Applicability = Annotated[Text, AfterValidator(applicability.check)]
AuthorKind = Literal["human", "rule", "model"]


class ExportModel(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class ExportedColumns(ExportModel):
    """Columns of an entry.

    An exported entry has all columns. An exported change has only the changed columns.
    """

    label: Label = ""
    content: Annotated[RuleText, Field(min_length=1)] = ""
    category: Category = ""
    condition: RuleText = ""
    action: RuleText = ""
    tags: list[Short] = []
    applies_to: list[Applicability] = []
    priority: Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)] = 0
    status: Literal["active", "deprecated", "superseded", "deleted"] = "active"
    helpful: Count = 0
    harmful: Count = 0
    neutral: Count = 0
    author_kind: AuthorKind = "rule"
    locked: bool = False
    pinned: bool = False
    created_at: Moment = ""
    created_by: NameText = ""
    updated_at: Moment = ""
    verified_at: Moment | None = None
    review_after: Moment | None = None
    version: Number = 1
    superseded_by: Label | None = None
    merged_from: list[Label] = []
    aliases: list[Short] = []

    @property
    def values(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class ExportedPlace(ExportModel):
    """The place of a change in the history."""

    revision: Number
    position: Annotated[int, Field(ge=0, le=32_767)]


class ExportedChange(ExportedPlace):
    operation: Literal["add", "update", "delete"]
    action: Annotated[str, Field(pattern=r"^[a-z_]{1,16}$")]
    entry: Label
    before: ExportedColumns
    after: ExportedColumns
    actor: NameText
    agent_id: Agent
    reason: Long
    delta: Number | None
    run: Number | None
    reverts: ExportedPlace | None
    request_id: Short
    changed_at: Moment


class ExportedTarget(ExportModel):
    entry: Label
    version: Number | None


class ExportedGate(ExportModel):
    name: Short
    verdict: Literal["pass", "warn", "fail"]
    value: int | float | Text
    threshold: int | float | Text
    message: RuleText


class ExportedDelta(ExportModel):
    """A delta that the history names.

    Quotes of the delta are left out, because quotes belong to memories.
    """

    number: Number
    operation: Literal[
        "add", "update", "delete", "merge", "deprecate", "restore", "tag", "vote"
    ]
    status: Literal["applied", "accepted", "edited", "reverted"]
    entry: Label | None
    expected_version: Number | None
    targets: list[ExportedTarget]
    content: RuleText
    category: Category | Literal[""]
    payload: Annotated[dict[str, Any], AfterValidator(_small)]
    reason: Long
    gates: list[ExportedGate]
    risk: Annotated[Text, Field(max_length=16)]
    producer: AuthorKind
    producer_name: Annotated[Text, Field(max_length=100)]
    producer_version: Annotated[Text, Field(max_length=40)]
    proposed_by: NameText
    agent_id: Agent
    run: Number | None
    reviewer: NameText
    review_note: Long
    reviewed_at: Moment | None
    created_at: Moment
    version: Number


class ExportedPlaybook(ExportModel):
    format: Literal["agent-memory-playbook"]
    version: Literal[1]
    revision: Count
    next_label: Number
    entries: list[ExportedColumns]
    changes: list[ExportedChange]
    deltas: list[ExportedDelta]


def read(content: str) -> ExportedPlaybook:
    """Parse an exported playbook.

    Raises BrokenHistory, which lists the problems.
    """
    try:
        document = ExportedPlaybook.model_validate_json(content)
    except ValidationError as error:
        problems = {
            ".".join(map(str, problem["loc"])) or "content": [problem["msg"]]
            for problem in error.errors(include_url=False, include_input=False)
        }
        listed_problems = dict(list(problems.items())[:MAX_PROBLEMS])
        raise BrokenHistory(
            "This is not an exported playbook.", errors=listed_problems
        ) from error
    if problem := _find_problems(document):
        raise BrokenHistory(
            f"The entries do not follow from the history: {problem}. "
            "Export the playbook again, or import it as lines."
        )
    return document


def write(
    head: Mapping[str, Any], lists: Mapping[str, Iterable[Mapping[str, Any]]]
) -> str:
    """Write each row on its own line, so that a diff can compare two exports."""
    parts = [f"{exact_json(name)}: {exact_json(value)}" for name, value in head.items()]
    for name, rows in lists.items():
        body = ",\n".join(map(exact_json, rows))
        parts.append(f"{exact_json(name)}: [\n{body}\n]" if body else f'"{name}": []')
    return "{" + ",\n".join(parts) + "}\n"


def to_lines(document: ExportedPlaybook) -> Iterator[RuleLine]:
    """Yield the active entries as lines, without their history."""
    live = (entry for entry in document.entries if entry.status == "active")
    for number, entry in enumerate(live, start=1):
        yield RuleLine(
            entry.label,
            entry.content,
            helpful=entry.helpful,
            harmful=entry.harmful,
            section=entry.category,
            applies_to=tuple(entry.applies_to),
            number=number,
        )


def _find_problems(document: ExportedPlaybook) -> str:
    """Return the first inconsistency of a history.

    Return an empty string if the history is consistent.
    """
    states: dict[str, dict[str, Any]] = {}
    # Within a revision, entries are retired before the new entry that replaces them is
    # added.
    added = {c.entry: c.revision for c in document.changes if c.operation == "add"}
    places: set[tuple[int, int]] = set()
    last = (0, -1)
    for change in document.changes:
        place = (change.revision, change.position)
        place_name = f"{change.entry} at revision {change.revision}"
        expected = {(last[0], last[1] + 1), (last[0] + 1, 0)}
        if place not in expected:
            return f"a change is missing or doubled before {place_name}"
        if change.reverts and _as_tuple(change.reverts) not in places:
            return f"{place_name} reverts a change that does not exist"
        if (change.entry in states) == (change.operation == "add"):
            return f"{place_name} is {'added twice' if change.entry in states else 'not added'}"
        is_known = change.entry in states
        state = states.setdefault(change.entry, {**LATER_COLUMNS})
        if is_known and any(state.get(n) != v for n, v in change.before.values.items()):
            return f"{place_name} does not follow from the changes before it"
        other_labels = [change.after.superseded_by, *change.after.merged_from]
        if any(
            n and added.get(n, MAX_INTEGER + 1) > change.revision for n in other_labels
        ):
            return f"{place_name} names an entry that does not exist"
        state.update(change.after.values)
        places.add(place)
        last = place
    if last[0] != document.revision:
        return f"it ends at revision {last[0]}, not {document.revision}"
    return _entry_problems(document, states)


def _entry_problems(
    document: ExportedPlaybook, states: Mapping[str, dict[str, Any]]
) -> str:
    entries = {entry.label: entry for entry in document.entries}
    if len(entries) != len(document.entries) or entries.keys() != states.keys():
        return "its changes are about other entries"
    live: set[str] = set()
    for label, entry in entries.items():
        if {**LATER_COLUMNS, **entry.values} != states[label] or set(
            states[label]
        ) != set(ExportedColumns.model_fields):
            return f"{label} has other values after its last change"
        if int(label.rpartition("-")[2]) >= document.next_label:
            return f"the label {label} could be used again"
        other_labels = [entry.superseded_by, *entry.merged_from]
        if any(other and other not in entries for other in other_labels):
            return f"{label} names an entry that does not exist"
        text = texts.similarity_hash(entry.content)
        if entry.status == "active" and text in live:
            return f"{label} has the text of another active entry"
        live.update({text} if entry.status == "active" else ())
    return _delta_problems(document, entries.keys())


def _delta_problems(document: ExportedPlaybook, labels: Iterable[str]) -> str:
    numbers = [delta.number for delta in document.deltas]
    if len(set(numbers)) != len(numbers):
        return "two deltas have the same number"
    known = set(labels)
    for delta in document.deltas:
        other_labels = [delta.entry, *(target.entry for target in delta.targets)]
        if any(label and label not in known for label in other_labels):
            return f"delta {delta.number} names an entry that does not exist"
    return ""


def _as_tuple(place: ExportedPlace) -> tuple[int, int]:
    return place.revision, place.position
