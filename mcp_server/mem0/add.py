"""Store what a conversation says, as mem0's `add` asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agents.learning import fact_candidates, model_question
from agents.learning.fact_candidates import FoundFacts
from agents.run_texts import USER as USER_SOURCE
from agents.run_texts import SourceText
from agents.tiers.fact_proof import CheckedFact
from common.caller import Caller
from common.db import write as in_one_write
from inference.errors import InferenceError
from inference.language.fence import FencedText
from mcp_server.mem0 import entities
from mcp_server.mem0.entities import EntityIds
from mcp_server.mem0.messages import USER, Conversation, SpokenMessage
from memories.models import Memory
from memories.store import memory_types, write
from memories.store.drafts import Draft
from memories.store.receipt import Receipt
from memories.store.write import Batch
from projects import model_access
from projects.models import Project

NO_MODEL = (
    "infer: the project asks no language model for facts (LANGUAGE_PROVIDER, "
    "language.enabled, agents.enable_auto_fact_extraction); the words are stored as they are"
)


@dataclass(frozen=True)
class Addition:
    """What to store, and of whom it is."""

    conversation: Conversation
    ids: EntityIds
    metadata: Mapping[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    # Whether the language model, if there is one, looks for facts in what the users say.
    infer: bool = True


@dataclass(frozen=True)
class PreparedAddition:
    """Memories that are checked and embedded, and what the answer says about the request."""

    batch: Batch
    notes: Sequence[str]


def prepare(project: Project, addition: Addition, caller: Caller) -> PreparedAddition:
    """Find, check and embed the memories; this is the slow part, before the transaction."""
    conversation, notes = addition.conversation, list(addition.conversation.notes)
    common = _common_fields(addition, project, caller)
    found = None
    if addition.infer:
        found, more = _find_facts(project, conversation.messages)
        notes += more
    if found is None:
        drafts = [_quote(message, common) for message in conversation.messages]
    else:
        drafts = [_state(fact, common) for fact in found.facts]
    return PreparedAddition(write.prepare(project, drafts, caller), notes)


@in_one_write
def commit(addition: PreparedAddition) -> dict[str, Any]:
    """Store all memories or, if one is refused, none."""
    receipts = write.commit(addition.batch)
    for receipt in receipts:
        if receipt.refusal:
            raise receipt.refusal
    notes = [*addition.notes, *(note for each in receipts for note in each.notes)]
    answer = {"results": [_describe(receipt) for receipt in receipts]}
    return {**answer, "notes": list(dict.fromkeys(notes))} if notes else answer


def _describe(receipt: Receipt) -> dict[str, Any]:
    memory = receipt.duplicate_of or receipt.memory
    assert memory
    event = "NONE" if receipt.duplicate_of else "ADD"
    return {"id": str(memory.pk), "memory": memory.content, "event": event}


def _common_fields(
    addition: Addition, project: Project, caller: Caller
) -> dict[str, Any]:
    ids = addition.ids
    app = {entities.APP_KEY: ids.app_id} if ids.app_id else {}
    return {
        "scope": ids.scope(project, caller),
        "user_id": ids.user_id,
        "agent_id": ids.agent_id,
        "metadata": {**addition.metadata, **app},
        "occurred_at": addition.occurred_at,
        "expires_at": addition.expires_at,
        "min_length": 1,  # people say "yes"; mem0 has no minimum
    }


def _quote(message: SpokenMessage, common: Mapping[str, Any]) -> Draft:
    """Return the draft of a message as it was said."""
    speaker = {"role": message.role, "name": message.name}
    return Draft(
        content=message.text,
        memory_type=memory_types.classify(message.text),
        provenance={name: text for name, text in speaker.items() if text},
        **common,
    )


def _state(fact: CheckedFact, common: Mapping[str, Any]) -> Draft:
    """Return the draft of a fact that the language model found."""
    return Draft(
        content=fact.content,
        memory_type=memory_types.classify(fact.content),
        kind=Memory.Kind.FACT.value,
        source=fact.source,
        confidence=fact.confidence,
        provenance={"quote": fact.quote, "quoted": fact.source},
        **common,
    )


def _find_facts(
    project: Project, messages: Sequence[SpokenMessage]
) -> tuple[FoundFacts | None, list[str]]:
    """Return the facts and notes; None if no model may or could look for them.

    Only the words of a user prove a fact.
    """
    is_wanted = project.options.agents.enable_auto_fact_extraction
    if not (is_wanted and model_access.is_enabled(project)):
        return None, [NO_MODEL]
    said = [each for each in messages if each.role == USER]
    texts = [
        SourceText(f"the user's words {each.place + 1}", each.text, USER_SOURCE)
        for each in said
    ]
    if not texts:
        return None, ["infer: no user says anything; the words are stored as they are"]
    try:
        found = fact_candidates.find_facts(project, texts)
    except InferenceError as error:
        return None, [f"infer: {error.detail} The words are stored as they are."]
    notes = list(_note_unread(said, texts))
    if len(texts) < len(messages):
        notes.append("infer: what assistants say proves no fact, and is not stored")
    if found.refused:
        reasons = (
            f"{reason} {count}" for reason, count in sorted(found.refused.items())
        )
        notes.append(f"infer: facts refused: {', '.join(reasons)}")
    if not found.facts:
        notes.append("infer: no fact was found; send infer false to store the words")
    return found, notes


def _note_unread(
    said: Sequence[SpokenMessage], texts: Sequence[SourceText]
) -> Iterator[str]:
    """Name the messages that the prompt had no room for."""
    fenced = [FencedText(each.name, each.text) for each in texts]
    unread = {each.name for each in model_question.find_unread(fenced)}
    pairs = zip(said, texts, strict=True)
    places = [f"messages.{each.place}" for each, text in pairs if text.name in unread]
    if places:
        yield (
            f"infer: the model did not read the whole of {', '.join(places)}; send fewer "
            "or shorter messages at a time, or infer false"
        )
