from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ace.models import AceRun, Observation, Reflection
from common.api.serializers import InProject, NullIsAbsent, PageQuery
from memories.serializers.fields import ScopeSerializer

# Limits of a task: docs/limits.md
MAX_CALLS = 500
MAX_TEXT = 1_000_000  # characters; the whole body may have at most 1 MiB


class AnyJSON(serializers.JSONField):
    """An object, or a string with its JSON; tools record arguments in both forms."""


class ToolUsageSerializer(NullIsAbsent):
    """A tool call; `tool` and `name` are other names for the field `tool_name`."""

    ALIASES = ("tool", "name")

    tool_name = serializers.CharField(max_length=255)
    tool = AnyJSON(required=False, help_text="Another name of `tool_name`.")
    name = AnyJSON(required=False, help_text="Another name of `tool_name`.")
    arguments = AnyJSON(default=dict)
    result = serializers.JSONField(default=None)
    status = serializers.JSONField(required=False)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            data = self._with_name(data)
        call: dict[str, Any] = super().to_internal_value(data)
        return {name: call[name] for name in call if name not in self.ALIASES}

    def _with_name(self, call: dict[str, Any]) -> dict[str, Any]:
        """Take the name from an alias; refuse a second name, because it would be lost."""
        names = [call[name] for name in ("tool_name", *self.ALIASES) if call.get(name)]
        if any(name != names[0] for name in names):
            raise serializers.ValidationError(
                {"tool_name": "`tool` and `name` are other names of it; send one."}
            )
        return {**call, "tool_name": names[0]} if names else call


class CompleteTask(InProject, NullIsAbsent):
    """A finished task, and the evidence of its outcome."""

    agent_id = serializers.CharField(max_length=255, required=False, allow_blank=True)
    goal = serializers.CharField(max_length=MAX_TEXT)
    result = serializers.CharField(max_length=MAX_TEXT, allow_blank=True, default="")
    tool_usage = ToolUsageSerializer(many=True, required=False)
    feedback = serializers.CharField(max_length=MAX_TEXT, allow_blank=True, default="")
    outcome = serializers.ChoiceField(
        choices=["success", "partial", "failure", "unknown"], required=False
    )
    feedback_source = serializers.ChoiceField(
        choices=["test", "human", "environment", "agent"], default="agent"
    )
    cited_entry_ids = serializers.ListField(
        child=serializers.CharField(max_length=64), max_length=500, required=False
    )
    injected_entry_ids = serializers.ListField(
        child=serializers.CharField(max_length=64), max_length=500, required=False
    )

    scope = ScopeSerializer(
        required=False,
        help_text="Where the memory of the task is stored: by default in the scope of the "
        "user to whom the key is bound, and otherwise in the workspace.",
    )

    def validate_tool_usage(self, value: list[Any]) -> list[Any]:
        if len(value) > MAX_CALLS:
            raise serializers.ValidationError(
                f"A task has at most {MAX_CALLS} tool calls; leave out the least important."
            )
        return value


class EvidenceOut(serializers.Serializer[Any]):
    """A quote; `field`, `start` and `end` locate it in the run's request."""

    kind = serializers.CharField()
    code = serializers.CharField(allow_null=True)
    error_type = serializers.CharField()
    message = serializers.CharField()
    field = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    signature = serializers.CharField()
    quote = serializers.CharField()


class InsightOut(serializers.Serializer[Any]):
    insight_type = serializers.CharField()
    content = serializers.CharField()
    confidence = serializers.FloatField()
    evidence = EvidenceOut(many=True)


class ErrorOut(serializers.Serializer[Any]):
    error_type = serializers.CharField()
    message = serializers.CharField()
    root_cause = serializers.CharField()
    evidence = EvidenceOut(many=True)


class LinkedFile(serializers.Serializer[Any]):
    file_path = serializers.CharField()
    relation_type = serializers.CharField()
    line_start = serializers.IntegerField(allow_null=True)
    line_end = serializers.IntegerField(allow_null=True)


class RelatedEntry(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # the API's name
    content = serializers.CharField()
    similarity = serializers.FloatField()


class LessonOut(serializers.Serializer[Any]):
    content = serializers.CharField()
    category = serializers.CharField()
    root_cause = serializers.CharField()
    confidence = serializers.FloatField()
    producer = serializers.ChoiceField(choices=["rule", "model"])


class DeltaOperationOut(serializers.Serializer[Any]):
    delta_id = serializers.UUIDField()
    operation = serializers.CharField()
    status = serializers.CharField()
    entry_id = serializers.UUIDField(allow_null=True)
    entry_label = serializers.CharField(allow_null=True)
    content = serializers.CharField()
    reason = serializers.CharField()


class PlaybookDeltaOut(serializers.Serializer[Any]):
    operations = DeltaOperationOut(many=True)
    summary = serializers.CharField()


class UpdatedBullet(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # the API's name
    content = serializers.CharField()
    category = serializers.CharField()
    helpful = serializers.IntegerField()
    harmful = serializers.IntegerField()


class AceResult(serializers.Serializer[Any]):
    """The result of a finished task."""

    run_id = serializers.UUIDField()
    state = serializers.CharField()
    memory_id = serializers.UUIDField()
    memory_type = serializers.CharField()
    memory_status = serializers.CharField()
    duplicate_of = serializers.UUIDField(allow_null=True)
    files_linked = LinkedFile(many=True)
    tags = serializers.ListField(child=serializers.CharField())
    outcome = serializers.CharField()
    outcome_source = serializers.CharField(required=False)
    insights = InsightOut(many=True)
    errors = ErrorOut(many=True)  # type: ignore[assignment]  # the API's name
    related_playbook_entries = RelatedEntry(many=True)
    playbook_delta = PlaybookDeltaOut()
    updated_bullets = UpdatedBullet(many=True)
    change_id = serializers.UUIDField(allow_null=True)
    lessons = LessonOut(many=True, required=False)
    abstained = serializers.CharField(allow_null=True, required=False)
    notes = serializers.ListField(child=serializers.CharField())
    phases = serializers.DictField()


class ReflectionOut(serializers.ModelSerializer[Reflection]):
    class Meta:
        model = Reflection
        fields = (
            "outcome",
            "outcome_source",
            "outcome_confidence",
            "outcome_reason",
            "error_identification",
            "root_cause",
            "correct_approach",
            "key_insight",
            "evidence",
            "insights",
            "lessons",
            "votes",
            "related",
            "abstained",
            "producer",
            "producer_name",
            "producer_version",
            "notes",
            "created_at",
        )
        read_only_fields = fields


class ObservationOut(serializers.ModelSerializer[Observation]):
    class Meta:
        model = Observation
        fields = ("id", "signature", "root_cause", "seen", "created_at")
        read_only_fields = fields


class RunOut(serializers.ModelSerializer[AceRun]):
    project_id = serializers.UUIDField(read_only=True)
    memory_id = serializers.UUIDField(read_only=True, allow_null=True)

    class Meta:
        model = AceRun
        fields: tuple[str, ...] = (
            "id",
            "project_id",
            "agent_id",
            "actor",
            "state",
            "phases",
            "memory_id",
            "created_at",
            "finished_at",
        )
        read_only_fields: tuple[str, ...] = fields


class RunDetail(RunOut):
    result = serializers.SerializerMethodField()
    reflection = ReflectionOut(read_only=True, allow_null=True)
    observations = ObservationOut(many=True, read_only=True)

    class Meta(RunOut.Meta):
        fields = (
            *RunOut.Meta.fields,
            "request",
            "result",
            "reflection",
            "observations",
        )
        read_only_fields = fields

    def get_result(self, run: AceRun) -> dict[str, Any]:
        return run.ace_result


class RunQuery(InProject, PageQuery):
    state = serializers.ChoiceField(choices=AceRun.RunState.choices, required=False)
    agent_id = serializers.CharField(max_length=255, required=False)
    date_from = serializers.DateTimeField(required=False)
    date_to = serializers.DateTimeField(required=False)
