"""The tool `remember`: store a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rest_framework import serializers

from common.api.serializers import NameField, NullIsAbsent, validate
from common.caller import Role
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from memories import scopes
from memories.models import Memory
from memories.queries import TOLD_TAG
from memories.serializers import drafts as draft_forms
from memories.serializers.fields import PathField, TagsField
from memories.store import write
from memories.store.drafts import MAX_CONTENT, MAX_TITLE, Draft
from memories.store.receipt import Receipt

TEXTS = {
    "stored": "Stored as {id}.",
    "superseded_key": "Stored as {id}; it replaces what the key said before.",
    "duplicate": "Known already as {duplicate_of}.",
    "waiting": "Stored as {id}.",
}


class RememberArguments(NullIsAbsent):
    content = serializers.CharField(
        max_length=MAX_CONTENT, help_text="One thing, in full sentences."
    )
    title = serializers.CharField(max_length=MAX_TITLE, required=False)
    memory_type = serializers.ChoiceField(choices=Memory.Type.values, required=False)
    tags = TagsField(required=False)
    file_paths = serializers.ListField(
        child=PathField(), max_length=100, required=False, help_text="What it is about."
    )
    key = NameField(
        max_length=255,
        required=False,
        help_text="With `value`: a fact that replaces the one of this key.",
    )
    value = serializers.JSONField(required=False)


class RememberAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=[*TEXTS])
    duplicate_of = serializers.CharField(required=False)
    notes = serializers.ListField(child=serializers.CharField())


def run(call: McpCall) -> McpAnswer:
    answer = call.replay()
    if answer is None:
        prepared = write.prepare(call.project, [draft_of(call)], call.caller)
        answer = call.run_once(lambda: describe(write.commit(prepared)[0]))
    lines = [TEXTS[answer["status"]].format(**answer), *answer["notes"]]
    return McpAnswer(answer, "\n".join(lines))


def draft_of(call: McpCall) -> Draft:
    """Return the draft of a note, or of a fact if a key is given, for every later session.

    A key that is bound to a user writes in the scope of that user, as a finished task does.
    """
    fields = dict(call.arguments)
    fields["kind"] = Memory.Kind.FACT if "key" in fields else Memory.Kind.NOTE
    fields["project_id"] = str(call.project.pk)
    fields["scope"] = scopes.resolve_for_task(None, call.project, call.caller).to_dict()
    form = validate(draft_forms.CreateMemory, fields)
    draft = draft_forms.draft_of(form, call.project, call.caller)
    return replace(draft, tags=tuple(dict.fromkeys([*draft.tags, TOLD_TAG])))


def describe(receipt: Receipt) -> Mapping[str, Any]:
    if receipt.refusal:
        raise receipt.refusal
    assert receipt.memory
    answer = {
        "id": str(receipt.memory.pk),
        "status": receipt.status,
        "notes": list(receipt.notes),
    }
    if receipt.duplicate_of:
        answer["duplicate_of"] = str(receipt.duplicate_of.pk)
    return answer


TOOL = ServedTool(
    name="remember",
    title="Remember",
    description="Store what should outlast this task.",
    arguments=RememberArguments,
    answer=RememberAnswer,
    run=run,
    role=Role.WRITER,
    is_idempotent=True,
    guards_secrets=True,
)
