"""The tool `hook`: an event of a session, for harnesses whose hooks call tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from common.api.serializers import NullIsAbsent
from mcp_server.hooks import event_answer
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from mcp_server.tools.search import compact_json


class HookArguments(NullIsAbsent):
    harness = serializers.CharField(max_length=40)
    event = serializers.CharField(max_length=40, default="", allow_blank=True)
    payload = serializers.DictField()
    opens_session = serializers.BooleanField(default=False)


class HookOutput(serializers.Serializer[Any]):
    """What the harness reads as the output of a hook; each harness has its own fields."""

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        return dict(instance)


def run(call: McpCall) -> McpAnswer:
    data = call.arguments
    given = event_answer.handle(
        call.caller,
        call.project,
        data["harness"],
        data["payload"],
        named=data["event"],
        opens_session=data["opens_session"],
        server=call.request.build_absolute_uri("/"),
    )
    return McpAnswer(given.body, compact_json(given.body))


TOOL = ServedTool(
    name="hook",
    title="Hook of a harness",
    description="For the hooks of a harness. A model does not call it.",
    arguments=HookArguments,
    answer=HookOutput,
    run=run,
    has_effects=True,
    # Nothing of an event is stored but digests and names of events.
    guards_secrets=True,
)
