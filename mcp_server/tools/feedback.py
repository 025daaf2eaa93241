"""The tool `feedback`: vote with a reason on a rule that the agent was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from common.api.serializers import NullIsAbsent
from common.caller import Role
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from mcp_server.tools.named_rule import find_rule
from playbook.history import given_votes
from playbook.models import PlaybookEntry


class FeedbackArguments(NullIsAbsent):
    id = serializers.CharField(max_length=64, help_text="Label or id of the rule.")
    vote = serializers.ChoiceField(choices=["helpful", "harmful"])
    note = serializers.CharField(max_length=1_000, help_text="Why.")


class FeedbackAnswer(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment]  # the API's name
    helpful = serializers.IntegerField()
    harmful = serializers.IntegerField()


def run(call: McpCall) -> McpAnswer:
    entry = find_rule(call, call.arguments["id"])
    answer = call.run_once(lambda: vote(call, entry))
    counts = (
        f"{answer['label']}: helpful={answer['helpful']} harmful={answer['harmful']}."
    )
    if call.caller.attests_in(entry.project_id):
        return McpAnswer(answer, f"Noted for {counts}")
    return McpAnswer(
        answer, f"Your key may not attest, so its vote counts nothing. {counts}"
    )


def vote(call: McpCall, entry: PlaybookEntry) -> Mapping[str, Any]:
    data = call.arguments
    given_votes.vote(entry, data["vote"], call.caller, note=data["note"])
    entry.refresh_from_db(fields=["helpful", "harmful"])
    return {
        "label": entry.label,
        "helpful": entry.helpful,
        "harmful": entry.harmful,
    }


TOOL = ServedTool(
    name="feedback",
    title="Vote on a rule",
    description="Say whether a rule that you were given helped or harmed.",
    arguments=FeedbackArguments,
    answer=FeedbackAnswer,
    run=run,
    role=Role.WRITER,
)
