"""The tool `context`: what to know before a task."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common import replicas
from common.api.serializers import NullIsAbsent
from common.text.memory_fence import fence
from context import task_context
from context.task_context import AtHand
from inference import tokens
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from memories import scopes
from memories.read.recalls import note_recalled
from memories.serializers.fields import PathField

FENCE_TOKENS = tokens.estimate(fence("")) + 1


class ContextArguments(NullIsAbsent):
    task = serializers.CharField(
        max_length=10_000, help_text="The task in words, with its errors and files."
    )
    files = serializers.ListField(
        child=PathField(), max_length=200, required=False, help_text="Paths at hand."
    )
    token_budget = serializers.IntegerField(
        min_value=100, max_value=20_000, default=task_context.TOKEN_BUDGET
    )


class RuleBrief(serializers.Serializer[Any]):
    id = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the API's name


class ContextAnswer(serializers.Serializer[Any]):
    text = serializers.CharField()
    rules = RuleBrief(many=True)
    memory_ids = serializers.ListField(child=serializers.CharField())
    omitted = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


def run(call: McpCall) -> McpAnswer:
    data, caller, project = call.arguments, call.caller, call.project
    found = replicas.read_from_replica(
        lambda: task_context.for_task(
            project,
            data["task"],
            caller,
            token_budget=data["token_budget"] - FENCE_TOKENS,
            at_hand=AtHand(
                files=tuple(data.get("files", ())),
                scopes=scopes.read_too(None, project, caller),
            ),
            parts=task_context.WITH_CARD,
        )
    )
    memories = [item.hit.memory for item in found.memories]
    note_recalled(memories)
    rules = [{"id": str(r.entry.pk), "label": r.entry.label} for r in found.entries]
    # A transcript that comes back is read without what is fenced.
    text = fence(found.text)
    answer = {
        "text": text,
        "rules": rules,
        "memory_ids": [str(memory.pk) for memory in memories],
        "omitted": len(found.skipped),
        "notes": found.notes,
    }
    return McpAnswer(answer, text)


TOOL = ServedTool(
    name="context",
    title="Know before you start",
    description="Rules, lessons, memories and files for a task. Call it first.",
    arguments=ContextArguments,
    answer=ContextAnswer,
    run=run,
)
