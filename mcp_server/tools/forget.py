"""The tool `forget`: delete an own memory softly, or propose to delete a rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from common import errors
from common.api.serializers import NullIsAbsent
from common.caller import Role
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from mcp_server.tools.named_rule import find_rule
from memories.lifecycle import delete
from memories.lifecycle.ownership import is_own
from memories.models import Memory
from playbook.entries.text_limits import MAX_REASON
from playbook.models import PlaybookEntry
from playbook.proposals import person_edits, submission
from playbook.proposals.proposed_change import Operation, Producer
from projects.project_lookup import parse_id


class NotOwnMemory(errors.Forbidden):
    """Another key stored this memory; only a curator may delete it."""

    code = "not_own_memory"


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
        return McpAnswer(answer, "Forgotten; a person can restore it.")
    entry = find_rule(call, call.arguments["id"])
    answer = call.run_once(lambda: propose_removal(call, entry))
    text = f"A rule is deleted by a person: {answer['status']}, {answer['url']}"
    return McpAnswer(answer, text)


def find_memory(call: McpCall) -> Memory | None:
    """Return the memory, even if it is deleted: to forget twice is no error."""
    rows = Memory.objects.visible_to(call.caller, call.project).light()
    memory: Memory | None = rows.filter(pk=parse_id(call.arguments["id"])).first()
    return memory


def forget(call: McpCall, memory: Memory) -> Mapping[str, Any]:
    caller = call.caller
    if not is_own(memory, caller) and not caller.may(Role.CURATOR, call.project.pk):
        url = call.page_url("admin:memories_memory_change", memory.pk)
        raise NotOwnMemory(
            f"Another key stored memory {memory.pk}; ask a curator to delete it: {url}"
        )
    delete.delete_memory(memory.pk, caller, reason=call.arguments["reason"])
    return {"id": str(memory.pk), "status": "forgotten"}


def propose_removal(call: McpCall, entry: PlaybookEntry) -> Mapping[str, Any]:
    proposal = person_edits.person_proposal(
        Operation.DELETE,
        {},
        call.caller,
        reason=call.arguments["reason"][:MAX_REASON],
        entry=entry,
        agent_id=call.caller.agent_id_for(""),
        producer=Producer.MODEL,
    )
    delta = submission.propose(call.project, [proposal], call.caller)[0]
    url = call.page_url("console:inbox_card", delta.pk)
    status = "rejected" if delta.status == delta.DeltaStatus.REJECTED else "proposed"
    return {"id": str(entry.pk), "status": status, "url": url}


TOOL = ServedTool(
    name="forget",
    title="Forget",
    description="Delete a memory of your own; for a rule, propose it.",
    arguments=ForgetArguments,
    answer=ForgetAnswer,
    run=run,
    role=Role.WRITER,
    is_destructive=True,
    is_idempotent=True,
)
