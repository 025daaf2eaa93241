"""A change on its way in: what somebody wants, not yet checked."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from common.text import plain_text, secrets
from inference.embedding.vector import Vector
from playbook.entries.matches import Match
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import TRUSTED_SOURCES

Operation = PlaybookDelta.DeltaOperation
Producer = PlaybookDelta.Producer
FeedbackSource = Literal["test", "environment", "human", "agent"]
# Operations that bring a text into the playbook, or back into it.
WRITES_TEXT = (Operation.ADD, Operation.UPDATE, Operation.MERGE)
# What a delta keeps of a proposal's `settings`.
KEPT_SETTINGS = (
    "priority",
    "pinned",
    "locked",
    "review_after",
    "aliases",
    "helpful",
    "harmful",
)


@dataclass(frozen=True)
class Quote:
    """What a field of the run says from `start` to `end`, word for word."""

    field: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True)
class Proposal:
    """One change that somebody wants. None leaves a column as it is.

    `sources` are the texts that quotes are cut from, by field; the evidence gate
    compares. `settings` are further columns: priority, pinned, locked, review_after;
    of an import also the aliases and counters that it brings along, and `beside` is
    what the whole import takes out: {entry id: tokens}.
    """

    operation: str
    entry: PlaybookEntry | None = None
    expected_version: int | None = None
    targets: tuple[Mapping[str, Any], ...] = ()
    content: str | None = None
    category: str | None = None
    condition: str | None = None
    action: str | None = None
    tags: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    vote: str = ""
    reason: str = ""
    evidence: tuple[Quote, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    root_cause: str = ""
    signature: str = ""

    producer: str = Producer.RULE
    producer_name: str = ""
    producer_version: str = ""
    agent_id: str = ""
    run_id: uuid.UUID | None = None
    memory_id: uuid.UUID | None = None
    feedback_source: FeedbackSource = "agent"
    outcome: str = "unknown"
    idempotency_key: str = ""
    origin: Literal["", "import"] = ""
    import_removals: Mapping[uuid.UUID, int] = field(default_factory=dict)

    @property
    def is_by_person(self) -> bool:
        return self.producer == Producer.HUMAN

    @property
    def is_trusted(self) -> bool:
        """Whether it rests on more than the agent's own word."""
        return self.feedback_source in TRUSTED_SOURCES

    @property
    def payload(self) -> dict[str, Any]:
        """What a delta keeps beside its own columns."""
        found: dict[str, Any] = {n: to_json(v) for n, v in self.settings.items()}
        if self.condition is not None:
            found["condition"] = self.condition
        if self.action is not None:
            found["action"] = self.action
        if self.tags is not None:
            found["tags"] = list(self.tags)
        for name in ("vote", "root_cause", "signature", "origin"):
            if value := getattr(self, name):
                found[name] = value
        if not self.is_by_person:
            found |= {
                "feedback_source": self.feedback_source,
                "outcome": self.outcome,
            }
        return found


def to_json(value: Any) -> Any:
    """A column's value as JSON holds it; `operations.columns` reads it back."""
    return value.isoformat() if isinstance(value, datetime) else value


def from_delta(delta: PlaybookDelta) -> Proposal:
    """What a delta proposes. The texts that its quotes are cut from are not kept."""
    told = delta.payload
    tags = told.get("tags")
    return Proposal(
        operation=delta.operation,
        entry=delta.entry,
        expected_version=delta.expected_version,
        targets=tuple(delta.targets),
        content=delta.content or None,
        category=delta.category or None,
        condition=told.get("condition"),
        action=told.get("action"),
        tags=None if tags is None else tuple(tags),
        settings={name: told[name] for name in KEPT_SETTINGS if name in told},
        vote=told.get("vote", ""),
        reason=delta.reason,
        evidence=tuple(Quote(**quote) for quote in delta.evidence),
        root_cause=told.get("root_cause", ""),
        signature=told.get("signature", ""),
        producer=delta.producer,
        producer_name=delta.producer_name,
        producer_version=delta.producer_version,
        agent_id=delta.agent_id,
        run_id=delta.run_id,
        memory_id=delta.memory_id,
        feedback_source=told.get("feedback_source", "agent"),
        outcome=told.get("outcome", "unknown"),
        idempotency_key=delta.idempotency_key,
        origin=told.get("origin", ""),
    )


def lesson_key(run_id: uuid.UUID, producer: str, lesson: str) -> str:
    """The same for the same lesson of the same run, however often it is resumed."""
    whole = f"{run_id}\n{producer}\n{plain_text.similarity_hash(lesson)}"
    return hashlib.sha256(whole.encode()).hexdigest()


def entries_key(
    producer: str, operation: str, texts: Iterable[tuple[uuid.UUID, int]]
) -> str:
    """The same for the same entries at their versions, whichever run it is.

    What a person kept is not brought up again by the next one.
    """
    sides = sorted(f"{pk} {version}" for pk, version in texts)
    whole = "\n".join([producer, operation, *sides])
    return hashlib.sha256(whole.encode()).hexdigest()


def mask_secrets(proposal: Proposal) -> tuple[Proposal, tuple[str, ...]]:
    """The proposal without its secrets, and the kinds that it had."""
    kinds: dict[str, None] = {}

    def clean(value: str) -> str:
        found = secrets.mask(value)
        kinds.update(dict.fromkeys(found.kinds))
        return found.text

    def maybe(value: str | None) -> str | None:
        return None if value is None else clean(value)

    cleaned = replace(
        proposal,
        content=maybe(proposal.content),
        condition=maybe(proposal.condition),
        action=maybe(proposal.action),
        reason=clean(proposal.reason),
        tags=None if proposal.tags is None else tuple(map(clean, proposal.tags)),
        evidence=tuple(replace(q, quote=clean(q.quote)) for q in proposal.evidence),
    )
    # What is left as it was keeps its quotes: masking moves their ends.
    return (cleaned, tuple(kinds)) if kinds else (proposal, ())


@dataclass(frozen=True)
class PreparedProposal:
    """A proposal with what was slow to find out.

    `asked` is what came in, `proposal` what its neighbours leave of it. `vector` is
    that of the text that was asked, None when it was not embedded; `secrets` are
    kinds found in it.
    """

    original: Proposal
    proposal: Proposal
    match: Match
    vector: Vector | None = None
    secrets: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """What two copies of the text share; empty when there is no text."""
        return (
            plain_text.similarity_hash(self.original.content)
            if self.original.content
            else ""
        )

    @property
    def own_vector(self) -> Vector | None:
        """The vector of the text that would stand in the entry."""
        return self.vector if self.proposal.content == self.original.content else None
