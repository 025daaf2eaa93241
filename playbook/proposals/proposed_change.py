"""A proposed change before the gates check it, and the change after its preparation."""

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
from playbook.history.live_guard import RULE_COLUMNS
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import TRUSTED_SOURCES
from playbook.rule_text import applicability

Operation = PlaybookDelta.DeltaOperation
Producer = PlaybookDelta.Producer
FeedbackSource = Literal["test", "environment", "human", "agent"]
# Operations that write the text of an entry.
WRITES_TEXT = (Operation.ADD, Operation.UPDATE, Operation.MERGE)
# The texts of a proposal that its delta stores in the payload.
PAYLOAD_TEXTS = (
    *("vote", "root_cause", "signature", "origin"),
    *("repair_key", "supply", "foreign", "doubt"),
)
# The `settings` of a proposal that its delta stores.
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
    """A quote: the verbatim text of a field of the run, from `start` to `end`."""

    field: str
    start: int
    end: int
    quote: str


# How the signatures begin of what a person says, and of what they say is to last.
WISH_SIGNATURE = "wish|"
LASTING_SIGNATURE = f"{WISH_SIGNATURE}lasting|"
ADVICE_SIGNATURE = "advice|"
PRINTED_SOURCES = frozenset({"test", "environment"})


@dataclass(frozen=True)
class Proposal:
    """One proposed change.

    A column that is None stays unchanged in the entry. `sources` maps fields to the
    texts from which quotes are cut; a gate compares the quotes with these texts.
    `settings` are further columns: priority, pinned, locked and review_after, and for
    an import also aliases and counters. `import_removals` maps each entry that an
    import removes or shrinks to the tokens that the entry loses. `repair_key` is equal for
    lessons about the same repair of a call. `supply` says which other package, remote or
    host the lesson leads to, and `foreign` which foreign text its words come from. `doubt`
    says what puts the entry in doubt until a person decides (`playbook.learning.doubt`).
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
    applies_to: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    vote: str = ""
    reason: str = ""
    evidence: tuple[Quote, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    root_cause: str = ""
    signature: str = ""
    repair_key: str = ""
    supply: str = ""
    foreign: str = ""
    doubt: str = ""

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
    def makes_rule(self) -> bool:
        """Whether the proposal gives an entry other words, or makes it active again."""
        if self.operation == Operation.RESTORE:
            return True
        changes = any(getattr(self, name) is not None for name in RULE_COLUMNS)
        return self.operation in WRITES_TEXT and changes

    def rule_column(self, name: str) -> str:
        """Return a column of the entry after the change."""
        value = getattr(self, name)
        if value is None and self.entry:
            value = getattr(self.entry, name)
        return value or ""

    @property
    def is_trusted(self) -> bool:
        """Whether the feedback comes from a source other than the agent itself."""
        return self.feedback_source in TRUSTED_SOURCES

    @property
    def shows_calls(self) -> bool:
        """Whether the rules drew it from what calls did, not only from what was said."""
        return self.producer == Producer.RULE and any(
            quote.field.startswith("tool_usage.") for quote in self.evidence
        )

    @property
    def is_mentioned_only(self) -> bool:
        """Whether nobody said it as a rule.

        It is a request, or a sentence that a test or the environment printed: whoever can
        print into a log must not write rules.
        """
        is_sentence = self.signature.startswith(ADVICE_SIGNATURE)
        return self.signature.startswith(WISH_SIGNATURE) or (
            is_sentence and self.feedback_source in PRINTED_SOURCES
        )

    @property
    def is_lasting_wish(self) -> bool:
        """Whether a person said it in a prompt, and that it lasts."""
        return self.signature.startswith(LASTING_SIGNATURE)

    @property
    def payload(self) -> dict[str, Any]:
        """The values that a delta stores in its payload."""
        payload: dict[str, Any] = {n: to_json(v) for n, v in self.settings.items()}
        if self.condition is not None:
            payload["condition"] = self.condition
        if self.action is not None:
            payload["action"] = self.action
        if self.tags is not None:
            payload["tags"] = list(self.tags)
        if self.applies_to is not None:
            payload["applies_to"] = list(self.applies_to)
        for name in PAYLOAD_TEXTS:
            if value := getattr(self, name):
                payload[name] = value
        if not self.is_by_person:
            payload |= {
                "feedback_source": self.feedback_source,
                "outcome": self.outcome,
            }
        return payload


def to_json(value: Any) -> Any:
    """Convert a column's value to JSON.

    `operations.columns_to_set` converts the JSON value back.
    """
    return value.isoformat() if isinstance(value, datetime) else value


def from_delta(delta: PlaybookDelta) -> Proposal:
    """Return the proposal of a delta.

    The proposal has no `sources`, because a delta does not store them.
    """
    payload = delta.payload
    tags, applies_to = payload.get("tags"), payload.get("applies_to")
    return Proposal(
        operation=delta.operation,
        entry=delta.entry,
        expected_version=delta.expected_version,
        targets=tuple(delta.targets),
        content=delta.content or None,
        category=delta.category or None,
        condition=payload.get("condition"),
        action=payload.get("action"),
        tags=None if tags is None else tuple(tags),
        applies_to=None if applies_to is None else tuple(applies_to),
        settings={name: payload[name] for name in KEPT_SETTINGS if name in payload},
        vote=payload.get("vote", ""),
        reason=delta.reason,
        evidence=tuple(Quote(**quote) for quote in delta.evidence),
        root_cause=payload.get("root_cause", ""),
        signature=payload.get("signature", ""),
        repair_key=payload.get("repair_key", ""),
        supply=payload.get("supply", ""),
        foreign=payload.get("foreign", ""),
        doubt=payload.get("doubt", ""),
        producer=delta.producer,
        producer_name=delta.producer_name,
        producer_version=delta.producer_version,
        agent_id=delta.agent_id,
        run_id=delta.run_id,
        memory_id=delta.memory_id,
        feedback_source=payload.get("feedback_source", "agent"),
        outcome=payload.get("outcome", "unknown"),
        idempotency_key=delta.idempotency_key,
        origin=payload.get("origin", ""),
    )


def lesson_key(run_id: uuid.UUID, producer: str, lesson: str) -> str:
    """Return the idempotency key of a lesson of a run.

    Each lesson has its own key. The key stays unchanged when the run is resumed.
    """
    whole = f"{run_id}\n{producer}\n{plain_text.similarity_hash(lesson)}"
    return hashlib.sha256(whole.encode()).hexdigest()


def entries_key(
    producer: str, operation: str, texts: Iterable[tuple[uuid.UUID, int | str]]
) -> str:
    """Return an idempotency key for these entries at these versions or hashes.

    All runs get equal keys for equal entries and versions. A proposal that a person
    rejected therefore does not return with the next run.
    """
    sides = sorted(f"{pk} {version}" for pk, version in texts)
    whole = "\n".join([producer, operation, *sides])
    return hashlib.sha256(whole.encode()).hexdigest()


def mask_secrets(proposal: Proposal) -> tuple[Proposal, tuple[str, ...]]:
    """Mask the secrets in a proposal.

    Return the masked proposal and the kinds of secrets that were found.
    """
    kinds: dict[str, None] = {}

    def clean(value: str) -> str:
        found = secrets.mask(value)
        kinds.update(dict.fromkeys(found.kinds))
        return found.text

    def maybe(value: str | None) -> str | None:
        return None if value is None else clean(value)

    masked = replace(
        proposal,
        content=maybe(proposal.content),
        condition=maybe(proposal.condition),
        action=maybe(proposal.action),
        reason=clean(proposal.reason),
        tags=None if proposal.tags is None else tuple(map(clean, proposal.tags)),
        applies_to=None
        if proposal.applies_to is None
        else applicability.keep_valid(map(clean, proposal.applies_to)),
        evidence=tuple(replace(q, quote=clean(q.quote)) for q in proposal.evidence),
    )
    # Without secrets the quotes stay unchanged, because masking would shift the ends of
    # quotes.
    return (masked, tuple(kinds)) if kinds else (proposal, ())


@dataclass(frozen=True)
class PreparedProposal:
    """A proposal with the results of its preparation.

    `original` is the submitted proposal. `proposal` is what remains to do after the
    comparison with its neighbours. `vector` is the vector of the original text, or None
    if there is no vector. `secrets` are the kinds of secrets that were found in the
    proposal.
    """

    original: Proposal
    proposal: Proposal
    match: Match
    vector: Vector | None = None
    secrets: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """The hash of the original text, which all copies of the text share.

        The hash is empty if there is no text.
        """
        return (
            plain_text.similarity_hash(self.original.content)
            if self.original.content
            else ""
        )

    @property
    def own_vector(self) -> Vector | None:
        """The vector of the text that the entry would get."""
        return self.vector if self.proposal.content == self.original.content else None
