"""The cards of proposals: the changes, the evidence and the possible decisions."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from common import errors
from common.caller import Caller
from common.text import comma_list
from common.text.word_diff import DiffPart
from console import text_diff
from console.inbox import proposal_words, unsafe_text
from console.inbox.form_input import describe_refusal
from console.inbox.unsafe_text import UnsafeView
from console.text_diff import TextDiff
from inference import tokens
from memories.models import Memory
from playbook.entries.text_limits import MAX_CONTENT
from playbook.history import operations
from playbook.lessons.draft import Operation
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry, format_line
from playbook.review import available, gate_words, renewal
from playbook.review.available import Permissions
from playbook.review.gate_words import GateFinding
from playbook.review.renewal import EntryDrift

Status = PlaybookDelta.DeltaStatus
UNDECIDED = (Status.PENDING, Status.STALE)
REMOVING_OPERATIONS = (Operation.DELETE, Operation.DEPRECATE)


@dataclass(frozen=True)
class FieldDiff:
    """A column, other than the text, that a proposal sets."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class EntryChange:
    """A column of an entry whose value changed after the proposal had read the entry."""

    label: str
    name: str
    before: Any
    after: Any
    diff: TextDiff | None


@dataclass(frozen=True)
class CardQuote:
    """A quote, and its field in words."""

    field: str
    quote: str


@dataclass(frozen=True)
class ProposalCard:
    """A proposal as the inbox shows it.

    `decisions` are the names of the decisions that the reader may make now, and
    `is_bulk_acceptable` says whether "accept" is possible for several at once. `unsafe` is the
    marked text of a proposal in quarantine. After a refusal, `form_input` is what the
    reader typed, and `refusal` is the reason for the refusal.
    """

    delta: PlaybookDelta
    text: TextDiff
    field_diffs: Sequence[FieldDiff]
    targets: Sequence[PlaybookEntry]
    entry_changes: Sequence[EntryChange]
    gates: Sequence[GateFinding]
    quotes: Sequence[CardQuote]
    tokens: int
    decisions: Collection[str]
    is_bulk_acceptable: bool = False
    unsafe: UnsafeView | None = None
    form_input: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""

    @property
    def pk(self) -> uuid.UUID:
        return self.delta.pk

    @property
    def title(self) -> str:
        verb = self.delta.get_operation_display()
        entry = self.delta.entry
        if self.delta.operation == Operation.ADD:
            return f"{verb} to {self.delta.category}"
        if self.delta.operation == Operation.FORGET:
            return f"{verb} a memory"
        return f"{verb} {entry.label}" if entry else verb

    @property
    def is_quarantined(self) -> bool:
        return self.delta.is_quarantined

    @property
    def is_undecided(self) -> bool:
        return self.delta.status in UNDECIDED

    @property
    def is_stale(self) -> bool:
        return self.delta.status == Status.STALE or bool(self.entry_changes)

    @property
    def alert_gates(self) -> list[GateFinding]:
        return [gate for gate in self.gates if gate.verdict != "pass"]

    @property
    def passed_gate_count(self) -> int:
        return len(self.gates) - len(self.alert_gates)

    @property
    def freed_tokens(self) -> int:
        return -self.tokens

    @property
    def risk_reason(self) -> str:
        return gate_words.explain_risk(self.delta)

    @property
    def is_selectable(self) -> bool:
        """Whether it can be decided together with others."""
        return self.is_undecided and "reject" in self.decisions

    @property
    def producer_words(self) -> str:
        producer = PlaybookDelta.Producer(self.delta.producer)
        return proposal_words.PRODUCERS[producer]

    @property
    def kind_words(self) -> str:
        return proposal_words.describe_kind(self.delta.kind)

    @property
    def near_label(self) -> str:
        """The label of the live rule that says nearly the same."""
        return str(self.delta.payload.get("near", {}).get("label", ""))

    @property
    def forgets(self) -> bool:
        """Whether it would delete a memory."""
        return bool(self.delta.operation == Operation.FORGET)

    @property
    def content(self) -> str:
        return self._edit_value("content")

    @property
    def category(self) -> str:
        return self._edit_value("category")

    @property
    def condition(self) -> str:
        return self._edit_value("condition")

    @property
    def applies_to(self) -> str:
        return self._edit_value("applies_to")

    def _edit_value(self, name: str) -> str:
        return self.form_input.get(name, edit_defaults(self.delta)[name])

    @property
    def is_long(self) -> bool:
        return _is_long(self.delta)


def edit_defaults(delta: PlaybookDelta) -> dict[str, str]:
    """Return the initial values of the edit form; leave out values it cannot send back."""
    return {
        "content": "" if _is_long(delta) else delta.content,
        "category": delta.category,
        "condition": str(delta.payload.get("condition") or ""),
        "applies_to": comma_list.join(delta.applies_to or ()),
    }


def _is_long(delta: PlaybookDelta) -> bool:
    return len(delta.content) > MAX_CONTENT


def build_cards(
    deltas: Sequence[PlaybookDelta],
    caller: Caller,
    *,
    form_input: Mapping[str, str] | None = None,
    refusal: errors.Refusal | None = None,
) -> list[ProposalCard]:
    """Build the cards of proposals.

    The number of queries is the same for any number of proposals.
    """
    targets = _target_entries(deltas, caller)
    drifts = renewal.find_drift(d for d in deltas if d.status in UNDECIDED)
    texts_before = _texts_before(deltas, caller) | _memory_texts(deltas, caller)
    permissions = Permissions(caller)
    return [
        ProposalCard(
            delta,
            text=_text_diff(delta, texts_before.get(delta.pk)),
            field_diffs=list(_field_diffs(delta)),
            targets=[targets[pk] for pk in _target_ids(delta) if pk in targets],
            entry_changes=list(_entry_changes(drifts.get(delta.pk, ()))),
            gates=gate_words.describe(delta.gates),
            quotes=list(_quotes(delta)),
            tokens=token_difference(
                delta, [targets.get(pk) for pk in _target_ids(delta)]
            ),
            decisions=permissions.actions(delta),
            is_bulk_acceptable=_is_bulk_acceptable(delta, permissions),
            unsafe=_unsafe_view(delta),
            form_input=form_input or {},
            refusal=describe_refusal(refusal) if refusal else "",
        )
        for delta in deltas
    ]


def _is_bulk_acceptable(delta: PlaybookDelta, permissions: Permissions) -> bool:
    case = permissions.situation(delta, in_bulk=True)
    return available.find_refusal("accept", case) is None


def _unsafe_view(delta: PlaybookDelta) -> UnsafeView | None:
    if not (delta.is_quarantined and delta.status in UNDECIDED):
        return None
    return unsafe_text.mark_text(delta)


def token_difference(
    delta: PlaybookDelta, targets: Iterable[PlaybookEntry | None] = ()
) -> int:
    """Return the number of tokens that a proposal adds to the playbook.

    The number is negative if the playbook becomes shorter.
    """
    if delta.status not in UNDECIDED:
        return 0
    if delta.operation == Operation.FORGET:
        return 0
    entry = delta.entry
    freed = sum(other.tokens for other in targets if other)
    if delta.operation in REMOVING_OPERATIONS:
        return -(entry.tokens if entry else 0) - freed
    label = entry.label if entry else f"{delta.category}-00000"
    text = delta.content or (entry.content if entry else "")
    return (
        tokens.estimate(format_line(label, text))
        - (entry.tokens if entry else 0)
        - freed
    )


def _text_diff(delta: PlaybookDelta, before: str | None) -> TextDiff:
    """Compare the entry's text with the text that the proposal would give the entry."""
    current = delta.entry.content if delta.entry else ""
    if delta.operation == Operation.ADD:
        return text_diff.compare(delta.content, delta.content)
    if delta.operation == Operation.FORGET:
        current = before or ""
    if delta.operation in (*REMOVING_OPERATIONS, Operation.FORGET):
        cut = current[: text_diff.MAX_CHARACTERS]
        return TextDiff([DiffPart("removed", cut)], len(current) - len(cut))
    if delta.operation == Operation.RESTORE:
        cut = current[: text_diff.MAX_CHARACTERS]
        return TextDiff([DiffPart("added", cut)], len(current) - len(cut))
    old = current if before is None else before
    return text_diff.compare(old, delta.content or current)


def _field_diffs(delta: PlaybookDelta) -> Iterable[FieldDiff]:
    values = operations.columns_to_set(delta)
    values.pop("content", None)
    if not delta.entry:
        values.pop("category", None)
    entry = delta.entry if delta.operation != Operation.ADD else None
    for name, after in values.items():
        before = getattr(entry, name) if entry else ""
        if after != before and (after or before):
            yield FieldDiff(
                name.replace("_", " "), _plain_value(before), _plain_value(after)
            )


def _entry_changes(drifts: Iterable[EntryDrift]) -> Iterable[EntryChange]:
    for drift in drifts:
        for name, (before, after) in drift.columns.items():
            is_text = name == "content"
            diff = text_diff.compare(before, after) if is_text else None
            label = name.replace("_", " ")
            yield EntryChange(
                drift.entry.label,
                label,
                _plain_value(before),
                _plain_value(after),
                diff,
            )


def _plain_value(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _quotes(delta: PlaybookDelta) -> Iterable[CardQuote]:
    for quote in delta.evidence:
        if isinstance(quote, dict):
            field_words = proposal_words.describe_field(str(quote.get("field", "")))
            yield CardQuote(field_words, str(quote.get("quote", "")))


def _target_ids(delta: PlaybookDelta) -> list[uuid.UUID]:
    return [uuid.UUID(str(target["id"])) for target in delta.targets]


def _target_entries(
    deltas: Iterable[PlaybookDelta], caller: Caller
) -> dict[uuid.UUID, PlaybookEntry]:
    ids = {pk for delta in deltas for pk in _target_ids(delta)}
    rows = PlaybookEntry.objects.visible_to(caller).light()
    found: dict[uuid.UUID, PlaybookEntry] = rows.in_bulk(ids)
    return found


def _memory_texts(
    deltas: Iterable[PlaybookDelta], caller: Caller
) -> dict[uuid.UUID, str]:
    """Return the text of each memory that a proposal would delete, by the proposal's id."""
    ids = {d.pk: d.memory_id for d in deltas if d.operation == Operation.FORGET}
    rows = Memory.objects.visible_to(caller).filter(pk__in=ids.values())
    texts = dict(rows.values_list("pk", "content")) if ids else {}
    return {pk: texts[memory_id] for pk, memory_id in ids.items() if memory_id in texts}


def _texts_before(
    deltas: Iterable[PlaybookDelta], caller: Caller
) -> dict[uuid.UUID, str]:
    """Return a dict of the id of each proposal in force and the earlier text of its entry.

    The earlier text is the text before the proposal changed the entry.
    """
    entry_ids = {d.pk: d.entry_id for d in deltas if d.status in PlaybookDelta.IN_FORCE}
    rows = PlaybookChange.objects.visible_to(caller).filter(
        entry_id__in=set(entry_ids.values()),
        delta_id__in=entry_ids,
        before__has_key="content",
    )
    found = rows.only("entry_id", "delta_id", "before") if entry_ids else ()
    return {
        change.delta_id: change.before["content"]
        for change in found
        if change.delta_id and entry_ids[change.delta_id] == change.entry_id
    }
