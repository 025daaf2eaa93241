"""The tool `fetch`: whole memories, rules and messages by their ids."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from common import errors, replicas
from common.api.serializers import NullIsAbsent
from common.text import prompt_injection
from common.text.quote import json_value, safe_line, visible_text
from context import unsafe_texts
from conversations.models import Message
from inference import tokens
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from mcp_server.tools.search import MAX_TITLE, NOTICE, compact_json, memory_title
from memories.models import Memory
from memories.read import retrieve
from playbook.entries import freshness
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import entry_list, exposures
from projects.project_lookup import parse_id

MAX_IDS = 20
MAX_TOKENS = 20_000  # of the texts of an answer; the first text is always whole
MAX_VALUE = 20_000  # characters of the value of a fact
PARTS = ("goal", "result", "feedback", "outcome", "lessons")

Document = dict[str, Any]


class FetchArguments(NullIsAbsent):
    ids = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=MAX_IDS,
        required=False,
        help_text="Ids of `search`, or labels of rules.",
    )
    id = serializers.CharField(
        max_length=64, required=False, help_text="One id; answers one document."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs.get("ids")) == bool(attrs.get("id")):
            raise serializers.ValidationError({"ids": "Send either `ids` or `id`."})
        return attrs


class FetchedDocument(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField()
    metadata = serializers.DictField()


class FetchAnswer(serializers.Serializer[Any]):
    """One document, or a list of them."""

    notice = serializers.CharField()
    results = FetchedDocument(many=True, required=False)
    missing_ids = serializers.ListField(child=serializers.CharField(), required=False)
    left_out_ids = serializers.ListField(child=serializers.CharField(), required=False)
    notes = serializers.ListField(child=serializers.CharField(), required=False)
    id = serializers.CharField(required=False)
    title = serializers.CharField(required=False)
    text = serializers.CharField(required=False)
    url = serializers.CharField(required=False)
    metadata = serializers.DictField(required=False)


def run(call: McpCall) -> McpAnswer:
    wanted = list(dict.fromkeys(call.arguments.get("ids") or [call.arguments["id"]]))
    found, unsafe = replicas.read_from_replica(lambda: find(call, wanted))
    record_rules(call, found)
    if "id" in call.arguments:
        if unsafe:
            raise errors.Forbidden(
                f"{wanted[0]} holds unsafe text; a person can read it in the console."
            )
        if not found:
            raise errors.NotFound(
                f"There is no memory, rule or message {wanted[0]!r} in this project."
            )
        answer: dict[str, Any] = {"notice": NOTICE, **found[wanted[0]]}
        return McpAnswer(answer, compact_json(answer))
    documents = [found[name] for name in wanted if name in found]
    given = documents[: count_that_fit(documents)]
    answer = {
        "notice": NOTICE,
        "results": given,
        "missing_ids": [n for n in wanted if n not in found and n not in unsafe],
        "left_out_ids": [
            *(each["id"] for each in documents[len(given) :]),
            *(name for name in wanted if name in unsafe),
        ],
        "notes": unsafe_texts.note_on(len(unsafe)),
    }
    return McpAnswer(answer, compact_json(answer))


def count_that_fit(documents: Sequence[Document]) -> int:
    used = 0
    for count, document in enumerate(documents):
        used += tokens.estimate(compact_json(document))
        if count and used > MAX_TOKENS:
            return count
    return len(documents)


def find(
    call: McpCall, wanted: Sequence[str]
) -> tuple[dict[str, Document], frozenset[str]]:
    """Return the documents that the caller may read, and the ids of those left out.

    Both are by the id or label that names them. What holds unsafe text is left out.
    """
    ids = {pk: name for name in wanted if (pk := parse_id(name))}
    labels = [name for name in wanted if not parse_id(name)]
    memories = retrieve.find_memories(list(ids), call.project, call.caller)
    rules = find_rules(call, list(ids), labels)
    seen = {ids[memory.pk] for memory in memories} | {rule_name(ids, e) for e in rules}
    rest = [pk for pk, name in ids.items() if name not in seen]
    visible = Message.objects.visible_to(call.caller, call.project).visible().light()
    messages = list(visible.filter(pk__in=rest).select_related("session"))
    unsafe = (
        unsafe_texts.find_memories(call.caller, memories)
        | unsafe_texts.find_rules(rules)
        | unsafe_texts.find_messages(messages)
    )
    names = {**ids, **{entry.pk: rule_name(ids, entry) for entry in rules}}
    safe = {
        **{m.pk: describe_memory(call, m) for m in memories if m.pk not in unsafe},
        **{e.pk: describe_rule(call, e) for e in rules if e.pk not in unsafe},
        **{m.pk: describe_message(call, m) for m in messages if m.pk not in unsafe},
    }
    found = {names[pk]: document for pk, document in safe.items()}
    return found, frozenset(names[pk] for pk in unsafe)


def rule_name(ids: Mapping[uuid.UUID, str], entry: PlaybookEntry) -> str:
    return ids.get(entry.pk, entry.label)


def find_rules(
    call: McpCall, ids: Sequence[uuid.UUID], labels: Sequence[str]
) -> list[PlaybookEntry]:
    rows = PlaybookEntry.objects.visible_to(call.caller).filter(project=call.project)
    named = rows.filter(pk__in=ids) | rows.filter(label__in=labels)
    return list(entry_list.with_details(named, call.caller))


def describe_memory(call: McpCall, memory: Memory) -> Document:
    texts = [memory.content]
    if memory.kind == Memory.Kind.FACT:
        texts.insert(0, f"{memory.key} = {json_value(memory.value, MAX_VALUE)}")
    for name in PARTS:
        text = getattr(memory, name)
        if text and text not in memory.content:
            texts.append(f"{name}: {text}")
    links = memory.file_links.all()
    metadata = {
        "kind": memory.kind,
        "memory_type": memory.memory_type,
        "tags": [safe_line(tag) for tag in memory.tags],
        "files": [safe_line(link.file.file_path) for link in links],
        "unconfirmed": any(link.suspect_since for link in links),
        "agent_id": safe_line(memory.agent_id),
        "created_at": memory.created_at.isoformat(),
    }
    url = call.page_url("admin:memories_memory_change", memory.pk)
    title, text = memory_title(memory), "\n\n".join(texts)
    return document(str(memory.pk), title, text, url, metadata)


def describe_rule(call: McpCall, entry: PlaybookEntry) -> Document:
    note = freshness.doubt_note(
        entry.content,
        is_contested=freshness.is_in_doubt(entry),
        files=freshness.changed_files(entry),
    )
    metadata = {
        "kind": "rule",
        "label": entry.label,
        "category": safe_line(entry.category),
        "status": entry.status,
        "helpful": entry.helpful,
        "harmful": entry.harmful,
        "doubt": note.strip(" ()"),
    }
    url = call.page_url("admin:playbook_playbookentry_change", entry.pk)
    title = f"[rule] {entry.label}"
    return document(str(entry.pk), title, entry.content, url, metadata)


def describe_message(call: McpCall, message: Message) -> Document:
    metadata = {
        "kind": "message",
        "role": message.role,
        "session": safe_line(message.session.key),
        "seq": message.seq,
        "created_at": message.created_at.isoformat(),
    }
    title = safe_line(f"[message] {message.session.key} {message.seq}", MAX_TITLE)
    url = call.page_url("console:session", message.session_id)
    return document(str(message.pk), title, message.text, url, metadata)


def document(
    pk: str, title: str, text: str, url: str, metadata: dict[str, Any]
) -> Document:
    shown = shown_text(text)
    return {"id": pk, "title": title, "text": shown, "url": url, "metadata": metadata}


def shown_text(text: str) -> str:
    """Return a whole text as data: its lines stay, and its orders are defused."""
    return prompt_injection.defuse(visible_text(text))


def record_rules(call: McpCall, found: dict[str, Document]) -> None:
    """Record the rules that the agent was given; only on these it may vote."""
    is_rule = [each for each in found.values() if each["metadata"]["kind"] == "rule"]
    exposures.record(
        call.project,
        dict.fromkeys(uuid.UUID(each["id"]) for each in is_rule),
        call.caller,
        source=Exposure.ExposureSource.CONTEXT,
        agent_id=call.caller.agent_id,
    )


TOOL = ServedTool(
    name="fetch",
    title="Fetch",
    description="Return memories, rules and messages whole.",
    arguments=FetchArguments,
    answer=FetchAnswer,
    run=run,
)
