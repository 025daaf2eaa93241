"""The tool `forget`: delete an own memory softly; propose to delete another one, or a rule."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from common.api.serializers import NullIsAbsent
from common.caller import Role
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from mcp_server.tools.named_rule import find_rule
from memories.lifecycle import delete
from memories.lifecycle.ownership import is_own
from memories.models import Memory
from playbook.entries.text_limits import MAX_REASON
from playbook.lessons import intake, memory_removal, person_edits
from playbook.lessons.draft import Operation, Producer
from playbook.models import PlaybookDelta, PlaybookEntry
from projects.project_lookup import parse_id


class ForgetArguments(NullIsAbsent):
    id = serializers.CharField(max_length=64)
    reason = serializers.CharField(max_length=500)


class ForgetAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=["forgotten", "proposed", "rejected"])
    url = serializers.CharField(required=False)


def run(call: McpCall) -> McpAnswer:
    memory = find_memory(call)
    if memory:
        answer = call.run_once(lambda: forget(call, memory))
    else:
        entry = find_rule(call, call.arguments["id"])
        answer = call.run_once(lambda: propose_rule_removal(call, entry))
    return McpAnswer(answer, describe(answer))


def describe(answer: Mapping[str, Any]) -> str:
    if answer["status"] == "forgotten":
        return "Forgotten; a person can restore it."
    return (
        f"A person decides whether it is deleted: {answer['status']}, {answer['url']}"
    )


def find_memory(call: McpCall) -> Memory | None:
    """Return the memory, even if it is deleted: to forget twice is no error."""
    rows = Memory.objects.visible_to(call.caller, call.project).light()
    memory: Memory | None = rows.filter(pk=parse_id(call.arguments["id"])).first()
    return memory


def forget(call: McpCall, memory: Memory) -> Mapping[str, Any]:
    """Delete the memory if the caller may; else propose it to a curator."""
    caller, reason = call.caller, call.arguments["reason"]
    is_curator = caller.may(Role.CURATOR, call.project.pk)
    if memory.deleted_at or is_curator or is_own(memory, caller):
        delete.delete_memory(memory.pk, caller, reason=reason)
        return {"id": str(memory.pk), "status": "forgotten"}
    delta = memory_removal.propose_removal(memory, caller, reason=reason)
    is_refused = memory_removal.is_kept(delta)
    return describe_proposal(call, delta, memory.pk, is_refused=is_refused)


def propose_rule_removal(call: McpCall, entry: PlaybookEntry) -> Mapping[str, Any]:
    change = person_edits.person_change(
        Operation.DELETE,
        {},
        call.caller,
        reason=call.arguments["reason"][:MAX_REASON],
        entry=entry,
        agent_id=call.caller.agent_id_for(""),
        producer=Producer.AGENT,
    )
    delta = intake.submit(call.project, [change], call.caller)[0]
    is_refused = delta.status == delta.DeltaStatus.REJECTED
    return describe_proposal(call, delta, entry.pk, is_refused=is_refused)


def describe_proposal(
    call: McpCall, delta: PlaybookDelta, subject: uuid.UUID, *, is_refused: bool
) -> Mapping[str, Any]:
    url = call.page_url("console:inbox_card", delta.pk)
    status = "rejected" if is_refused else "proposed"
    return {"id": str(subject), "status": status, "url": url}


TOOL = ServedTool(
    name="forget",
    title="Forget",
    description="Delete a memory of your own; of others or a rule: propose it.",
    arguments=ForgetArguments,
    answer=ForgetAnswer,
    run=run,
    role=Role.WRITER,
    is_destructive=True,
    is_idempotent=True,
)
