"""The tool `complete_task`: report a finished task, from which the project learns."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ace import feedback_source
from ace import run as runs
from ace import serializers as forms
from ace.models import AceRun
from common.api.serializers import NullIsAbsent, validate
from common.caller import Role
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool

OUTCOMES = ("success", "partial", "failure", "unknown")


class CompleteTaskArguments(NullIsAbsent):
    goal = serializers.CharField(
        max_length=forms.MAX_TEXT, help_text="What was asked, in the person's words."
    )
    result = serializers.CharField(
        max_length=forms.MAX_TEXT, required=False, allow_blank=True
    )
    outcome = serializers.ChoiceField(choices=OUTCOMES, required=False)
    feedback = serializers.CharField(
        max_length=forms.MAX_TEXT,
        required=False,
        allow_blank=True,
        help_text="What the person, the tests or the environment said, verbatim.",
    )
    feedback_source = serializers.ChoiceField(
        choices=["test", "human", "environment", "agent"], default="agent"
    )
    cited = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=500,
        required=False,
        help_text="Labels or ids of the rules that you used.",
    )
    tool_usage = serializers.ListField(
        child=serializers.DictField(),
        max_length=forms.MAX_CALLS,
        required=False,
        help_text="Calls as {tool_name, arguments, result, status, cwd}.",
    )
    lessons = forms.TaughtLessonSerializer(  # type: ignore[call-arg]  # the list's
        many=True,
        max_length=forms.MAX_LESSONS,
        required=False,
        help_text="What you learned, with quotes of this task.",
    )
    session_id = serializers.CharField(max_length=255, required=False)


class CompleteTaskAnswer(serializers.Serializer[Any]):
    run_id = serializers.CharField()
    memory_id = serializers.CharField(required=False)
    outcome = serializers.CharField(required=False)
    proposals = serializers.IntegerField(help_text="Changes of the playbook.")
    notes = serializers.ListField(child=serializers.CharField())


def run(call: McpCall) -> McpAnswer:
    fields = dict(call.arguments)
    fields["project_id"] = str(call.project.pk)
    if "cited" in fields:
        fields["cited_entry_ids"] = fields.pop("cited")
    data = validate(forms.CompleteTask, fields)
    task = feedback_source.accept(data, call.project, call.caller)
    finished = runs.complete(call.project, task, call.caller, identity=call.identity)
    answer = describe(finished)
    return McpAnswer(answer, write_text(answer))


def describe(finished: AceRun) -> dict[str, Any]:
    result = finished.ace_result
    operations = result.get("playbook_delta", {}).get("operations", [])
    answer: dict[str, Any] = {
        "run_id": result["run_id"],
        "proposals": len(operations),
        "notes": list(result.get("notes", ())),
    }
    for name in ("memory_id", "outcome"):
        if result.get(name):
            answer[name] = str(result[name])
    return answer


def write_text(answer: dict[str, Any]) -> str:
    first = f"Stored as run {answer['run_id']}; changes of the playbook: {answer['proposals']}."
    return "\n".join([first, *answer["notes"]])


TOOL = ServedTool(
    name="complete_task",
    title="Complete a task",
    description="Report a finished task once, so that the project learns from it.",
    arguments=CompleteTaskArguments,
    answer=CompleteTaskAnswer,
    run=run,
    role=Role.WRITER,
    guards_secrets=True,
)
