"""A change of the playbook before the intake has decided about it."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from common.text import same_text
from inference.embedding.vector import Vector
from playbook.entries.matches import NO_MATCH, Match
from playbook.history.live_guard import RULE_COLUMNS
from playbook.history.operations import LESSON_COLUMNS, WRITES_TEXT
from playbook.models import PlaybookDelta, PlaybookEntry

Operation = PlaybookDelta.DeltaOperation
Producer = PlaybookDelta.Producer


class Basis(StrEnum):
    """On what a change rests, as code has found it: the rows of `playbook.lessons.policy`."""

    CURE = "cure"
    PERSON = "person"
    LASTING = "lasting"
    TEST = "test"
    WORD = "word"


@dataclass(frozen=True)
class Draft:
    """An unsaved delta, and what is known about it until it is saved.

    `around` are the texts around its quotes, `seen` what people said and calls showed, and `secrets` the kinds of secrets that were
    masked in it. `warning` says why a person must see it, and `is_believed` that the
    project believes what is told of calls and tests. `vector` and `match` are those of its
    text. `losses` maps each entry that a whole import removes or shrinks to the tokens that it
    loses.
    """

    delta: PlaybookDelta
    basis: Basis = Basis.WORD
    around: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    warning: str = ""
    is_believed: bool = False
    is_candidate: bool = False
    losses: Mapping[uuid.UUID, int] = field(default_factory=dict)
    vector: Vector | None = None
    match: Match = NO_MATCH

    def has_seen(self, name: str) -> bool:
        """Whether a name stands letter by letter in what people said and calls showed."""
        return any(name in text for text in self.seen)

    @property
    def is_by_person(self) -> bool:
        return self.delta.producer == Producer.HUMAN and not self.is_imported

    @property
    def is_imported(self) -> bool:
        return bool(self.delta.payload.get("origin") == "import")

    @property
    def was_written(self) -> bool:
        """Whether a person wrote it, here or where it was exported."""
        return self.is_by_person or self.is_imported

    @property
    def is_lesson(self) -> bool:
        """Whether somebody teaches it, and no person wrote it."""
        of_text = self.delta.operation in {Operation.ADD, Operation.UPDATE}
        return of_text and bool(self.delta.content) and not self.was_written

    @property
    def writes_rule(self) -> bool:
        """Whether it gives an entry other words, or makes it active again."""
        delta = self.delta
        if delta.operation == Operation.RESTORE:
            return True
        sets = delta.content or set(RULE_COLUMNS) & delta.payload.keys()
        return delta.operation in WRITES_TEXT and bool(sets)

    def column(self, name: str) -> str:
        """Return a column of the entry after the change."""
        own = self.delta.content if name == "content" else self.delta.payload.get(name)
        if not own and self.delta.entry and (name == "content" or own is None):
            own = getattr(self.delta.entry, name)
        return str(own or "")


def change(
    operation: str,
    *,
    entry: PlaybookEntry | None = None,
    values: Mapping[str, Any] | None = None,
    **columns: Any,
) -> PlaybookDelta:
    """Return an unsaved delta. `values` are columns of an entry by name, set or unset."""
    payload, own = dict(columns.pop("payload", {})), dict(columns)
    for name, value in (values or {}).items():
        if name in LESSON_COLUMNS:
            own[name] = value
        else:
            payload[name] = to_json(value)
    content = own.get("content") or ""
    return PlaybookDelta(
        operation=operation,
        entry=entry,
        payload=payload,
        similarity_hash=same_text.hash_text(content) if content else "",
        **own,
    )


def to_json(value: Any) -> Any:
    """Convert a column's value to JSON; `operations.columns_to_set` converts it back."""
    return value.isoformat() if isinstance(value, datetime) else value


def key(*parts: object) -> str:
    """Return the idempotency key of a change of these entries at these versions or texts.

    What a person rejected therefore does not return before a text changes.
    """
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
