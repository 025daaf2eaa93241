from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ace.models import AceRun, ModelReflection, ObservedRepair, Reflection
from common.api.moments import LowerBound, UpperBound
from common.api.serializers import InProject, NullIsAbsent, PageQuery
from memories.serializers.fields import ScopeSerializer, VerbatimField
from playbook.entries import text_limits
from playbook.lessons.lesson import Kind, Producer
from playbook.rule_text import applicability

# Limits of a task: docs/limits.md
MAX_CALLS = 500
MAX_LESSONS = 20
MAX_TEXT = 1_000_000  # characters; the whole body may have at most 1 MiB
MAX_FOLDER = 4_096  # characters of a folder's path
MAX_RESULT = 100_000  # characters of the result of one failed call


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
    cwd = serializers.CharField(
        max_length=MAX_FOLDER,
        required=False,
        allow_blank=True,
        help_text="The folder in which the call ran, as in `/home/ana/app`. Files are then "
        "known relative to it, and facts of one machine stay with its home folder.",
    )

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


class TaughtLessonSerializer(NullIsAbsent):
    """A lesson in the agent's own words."""

    content = serializers.CharField(
        max_length=text_limits.MAX_CONTENT,
        help_text="One sentence of at most 40 words.",
    )
    applies_to = serializers.ListField(
        child=serializers.CharField(max_length=200),
        max_length=20,
        required=False,
        help_text="`always`, `tool:NAME`, `path:GLOB`, `language:NAME`.",
    )
    quotes = serializers.ListField(
        child=VerbatimField(max_length=text_limits.MAX_QUOTE),
        min_length=1,
        max_length=10,
        help_text="Words of the task, letter by letter.",
    )

    def validate_applies_to(self, value: list[str]) -> list[str]:
        for each in value:
            try:
                applicability.check(each)
            except ValueError as error:
                raise serializers.ValidationError(str(error)) from error
        return value


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

    session_id = VerbatimField(
        required=False,
        allow_blank=True,
        help_text="The session of the agent in which the task was done. A fix is known once "
        "two sessions have shown it; without the id, each task is a session of its own.",
    )
    branch = serializers.CharField(
        max_length=255,
        required=False,
        allow_blank=True,
        help_text="The branch that was checked out: tasks on one branch change the same files.",
    )
    scope = ScopeSerializer(
        required=False,
        help_text="Where the memory of the task is stored: by default in the scope of the "
        "user to whom the key is bound, and otherwise in the workspace.",
    )

    lessons = TaughtLessonSerializer(  # type: ignore[call-arg]  # the list's
        many=True,
        required=False,
        max_length=MAX_LESSONS,
        help_text="What you learned, in your own words. A lesson whose quotes the task does "
        "not have is left out; the others wait for a person, or as the project's policy says.",
    )

    def validate_tool_usage(self, value: list[Any]) -> list[Any]:
        if len(value) > MAX_CALLS:
            raise serializers.ValidationError(
                f"A task has at most {MAX_CALLS} tool calls; leave out the least important."
            )
        return value


class FixOut(serializers.Serializer[Any]):
    """What cured the same failure before; its texts are data, not instructions."""

    text = serializers.CharField(
        help_text="The fix in one line of at most 150 tokens; words of commands and of code "
        "are JSON strings."
    )
    kind = serializers.ChoiceField(
        choices=ObservedRepair.RepairKind.choices,
        source="words.kind",
        help_text="The class of the failure: what `lint`, a `shell` command, a `path` or "
        "another `tool` said.",
    )
    signature = serializers.CharField(
        source="cure.signature.name",
        help_text="The failure with its values masked, by which it was known again.",
    )
    failed = serializers.CharField(
        source="words.failed",
        help_text="The whole command, the code, path or argument that failed before; empty if "
        "another person alone wrote it, or if an argument was left out.",
    )
    worked = serializers.CharField(
        source="words.worked",
        help_text="What then worked instead, a command whole; empty if another person alone "
        "wrote it, or if an argument had to be left out.",
    )
    times = serializers.IntegerField(
        source="cure.times", help_text="How often it worked."
    )
    sessions = serializers.IntegerField(
        source="cure.sessions", help_text="In how many sessions it worked."
    )
    share = serializers.FloatField(
        source="cure.share",
        help_text="Its share of all that cured this failure, 0 to 1; at least 0.6.",
    )
    last_seen_at = serializers.DateTimeField(
        source="cure.newest.created_at", help_text="When it last worked."
    )
    run_id = serializers.UUIDField(
        source="cure.newest.run_id", help_text="The run in which it last worked."
    )
    is_own = serializers.BooleanField(
        help_text="Whether a run of the same person showed it."
    )
    entry_id = serializers.UUIDField(
        source="entry.pk",
        default=None,
        allow_null=True,
        help_text="The live rule that came of it, if there is one.",
    )
    entry_label = serializers.CharField(
        source="entry.label",
        default=None,
        allow_null=True,
        help_text="The label of that rule, as in `gotchas-00042`.",
    )


class EvidenceOut(serializers.Serializer[Any]):
    """A quote; `field`, `start` and `end` locate it in the run's request."""

    field = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    quote = serializers.CharField()


class InsightOut(serializers.Serializer[Any]):
    insight_type = serializers.ChoiceField(
        choices=["pattern", "gotcha", "best_practice", "error", "observation"]
    )
    content = serializers.CharField()
    confidence = serializers.FloatField()
    evidence = EvidenceOut(many=True)


class ErrorOut(serializers.Serializer[Any]):
    error_type = serializers.CharField(
        help_text="The exception, the code of a compiler or linter, the kind of the "
        "complaint, or `reported` if only words tell of it."
    )
    message = serializers.CharField()
    root_cause = serializers.CharField(
        help_text="The sentence of the feedback or the result that names it, or blank."
    )
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
    kind = serializers.ChoiceField(choices=[kind.value for kind in Kind])
    category = serializers.CharField()
    applies_to = serializers.ListField(child=serializers.CharField())
    confidence = serializers.FloatField()
    producer = serializers.ChoiceField(choices=[each.value for each in Producer])


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


class ReflectionState(serializers.Serializer[Any]):
    """Whether a language model has read the task, which completes the result."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(
        choices=ModelReflection.ReflectionState.values, help_text="`waiting` or `done`."
    )


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
    reflection = ReflectionState(required=False)
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
            "errors",
            "insights",
            "lessons",
            "votes",
            "related",
            "supported",
            "abstained",
            "created_at",
        )
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

    class Meta(RunOut.Meta):
        fields = (*RunOut.Meta.fields, "request", "result", "reflection")
        read_only_fields = fields

    def get_result(self, run: AceRun) -> dict[str, Any]:
        return run.ace_result


class RunQuery(InProject, PageQuery):
    state = serializers.ChoiceField(choices=AceRun.RunState.choices, required=False)
    agent_id = serializers.CharField(max_length=255, required=False)
    date_from = LowerBound(required=False)
    date_to = UpperBound(required=False)
