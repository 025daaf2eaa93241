"""Input for storing, changing and listing memories."""

from __future__ import annotations

import dataclasses
from typing import Any

from rest_framework import serializers

from common.api.moments import LowerBound, UpperBound
from common.api.serializers import InProject, NameField, NullIsAbsent
from common.caller import Caller
from common.pagination import MAX_LIMIT
from memories import scopes
from memories.models import Memory
from memories.scopes import KEY_FIELDS
from memories.serializers.fields import (
    LINKS,
    SOURCE_HELP,
    CommaList,
    FileRefSerializer,
    MetadataQueryField,
    Note,
    PathField,
    ScopeSerializer,
    TagsField,
    TagsQuery,
    VerbatimField,
)
from memories.serializers.memories import MemoryDetail, MemoryOut
from memories.store import claimed_source, memory_types
from memories.store.drafts import (
    EMPTY_VALUES,
    MAX_CONTENT,
    MAX_PART,
    MAX_TITLE,
    Draft,
    FileRef,
    read_nulls,
)
from projects.models import Project


class MemoryTextFields(serializers.Serializer[Any]):
    """The fields that a caller may set when it stores a memory, and may change later."""

    title = serializers.CharField(
        max_length=MAX_TITLE, required=False, allow_blank=True
    )
    value = serializers.JSONField(required=False, allow_null=True)
    goal = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True, allow_null=True
    )
    result = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True, allow_null=True
    )
    feedback = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True, allow_null=True
    )
    tool_usage = serializers.ListField(
        child=serializers.DictField(), max_length=500, required=False
    )
    steps = serializers.ListField(
        child=serializers.CharField(max_length=5000), max_length=500, required=False
    )
    outcome = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True, allow_null=True
    )
    lessons = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True, allow_null=True
    )
    tags = TagsField(required=False)
    file_paths = serializers.ListField(
        child=PathField(), max_length=LINKS, required=False
    )
    metadata = serializers.DictField(
        required=False,
        help_text="An object of your own. It is stored as it is, but for secrets. No query "
        "finds its words; the filter `metadata` finds its values.",
    )
    sensitivity = serializers.ChoiceField(
        choices=Memory.Sensitivity.choices, required=False
    )
    confidence = serializers.FloatField(
        min_value=0, max_value=1, required=False, allow_null=True
    )
    occurred_at = serializers.DateTimeField(required=False, allow_null=True)
    expires_at = UpperBound(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return read_nulls(super().validate(attrs))


class MemoryFields(NullIsAbsent, MemoryTextFields):
    content = serializers.CharField(max_length=MAX_CONTENT, trim_whitespace=False)
    memory_type = serializers.ChoiceField(
        choices=Memory.Type.choices,
        required=False,
        help_text="What the memory is about. Without it, it is read off the content.",
    )
    kind = serializers.ChoiceField(choices=Memory.Kind.choices, default="note")
    agent_id = serializers.CharField(max_length=255, required=False, allow_blank=True)
    user_id = VerbatimField(required=False, allow_blank=True)
    key = NameField(max_length=255, required=False, allow_blank=True)
    files = FileRefSerializer(many=True, required=False)
    scope = ScopeSerializer(required=False)
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=Memory.Source.choices,
        default="agent",
        help_text=f"{SOURCE_HELP} `user`, `system` and `reflect` are for curators to claim. "
        "From others they are stored as `agent`, and a note says so.",
    )
    created_in_session_id = VerbatimField(required=False, allow_blank=True)
    provenance = serializers.DictField(required=False)

    def validate_content(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("This field may not be blank.")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if len(attrs.get("files", [])) + len(attrs.get("file_paths", [])) > LINKS:
            raise serializers.ValidationError(
                {"files": [f"A memory links to {LINKS} files at most."]}
            )
        return attrs


class CreateMemory(InProject, MemoryFields):
    """A memory to store."""

    source = serializers.ChoiceField(
        choices=Memory.Source.choices,
        required=False,
        help_text=f"{SOURCE_HELP} `user`, `system` and `reflect` are for curators to claim. "
        "From others they are stored as `agent`, and a note says so. Without it, it is `user` "
        "for the key of a curator that is bound to nobody and names no agent and no session.",
    )


class MemoryInBatch(MemoryFields):
    project_id = serializers.CharField(max_length=255, required=False)
    project = serializers.CharField(
        max_length=255, required=False, help_text="Another name of `project_id`."
    )


class CreateMemories(InProject):
    memories = serializers.ListField(
        child=serializers.DictField(), min_length=1, max_length=500
    )


class UpdateMemory(NullIsAbsent, MemoryTextFields):
    """The fields that may change.

    Any other field is refused as immutable.
    """

    null_fields = frozenset(EMPTY_VALUES)

    content = serializers.CharField(
        max_length=MAX_CONTENT, required=False, trim_whitespace=False
    )
    memory_type = serializers.ChoiceField(choices=Memory.Type.choices, required=False)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)


def file_refs(data: dict[str, Any]) -> tuple[FileRef, ...]:
    plain = [FileRef(path) for path in data.get("file_paths", [])]
    linked = [
        FileRef(
            ref["file_path"],
            ref["relation_type"],
            ref.get("line_start"),
            ref.get("line_end"),
            ref["content_hash"],
        )
        for ref in data.get("files", [])
    ]
    # A file that has a detailed link does not also need a plain reference.
    detailed = {ref.path for ref in linked}
    return (*linked, *(ref for ref in plain if ref.path not in detailed))


def draft_of(data: dict[str, Any], project: Project, caller: Caller) -> Draft:
    """Return the draft that valid fields of a memory describe."""
    names = {field.name for field in dataclasses.fields(Draft)} - {"files", "scope"}
    fields = {name: data[name] for name in names & set(data)}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if not fields.get("memory_type"):
        fields["memory_type"] = memory_types.classify(data["content"])
    fields.setdefault(
        "source",
        claimed_source.default_source(
            project.pk,
            caller,
            agent_id=data.get("agent_id", ""),
            session=data.get("created_in_session_id", ""),
        ),
    )
    scope = scopes.resolve(data.get("scope"), project, caller)
    return Draft(**fields, files=file_refs(data), scope=scope)


# The fields of a memory that PATCH refuses as immutable; see `lifecycle.update.MUTABLE`.
FIXED_FIELDS = (set(MemoryDetail.Meta.fields) | set(CreateMemory().fields)) - {
    *UpdateMemory().fields
}


class RetrieveQuery(InProject, TagsQuery):
    """Query parameters of a structured read.

    A scope is written as `scope=user&user_id=u1`.
    """

    scope = serializers.ChoiceField(choices=Memory.ScopeKind.choices, required=False)
    session_id = VerbatimField(required=False)
    user_id = VerbatimField(required=False)
    workspace_id = VerbatimField(required=False)
    org_id = VerbatimField(required=False)
    object_type = VerbatimField(required=False)
    object_id = VerbatimField(required=False)
    include_narrower = serializers.BooleanField(
        default=False,
        help_text="With `scope=user` and a `session_id`: also the memories of this session. "
        "No other session is read.",
    )
    since = LowerBound(required=False)
    kinds = CommaList(
        child=serializers.ChoiceField(choices=Memory.Kind.choices), required=False
    )
    memory_types = CommaList(
        child=serializers.ChoiceField(choices=Memory.Type.choices), required=False
    )
    agent_id = serializers.CharField(max_length=255, required=False)
    file_paths = CommaList(child=PathField(), required=False)
    sensitivities = CommaList(
        child=serializers.ChoiceField(choices=Memory.Sensitivity.choices),
        required=False,
    )
    metadata = MetadataQueryField(required=False)
    include_duplicates = serializers.BooleanField(
        default=False,
        help_text="Also memories that repeat an earlier one (`is_duplicate`).",
    )
    order = serializers.ChoiceField(choices=["newest", "oldest"], default="newest")
    limit = serializers.FloatField(
        max_value=MAX_LIMIT,
        required=False,
        help_text="A limit below 1 counts as 20; a fraction is rounded down.",
    )
    cursor = serializers.CharField(required=False)
    ids = CommaList(
        child=serializers.UUIDField(),
        max_length=MAX_LIMIT,
        required=False,
        help_text="Reads these memories, in this order, as if each was read by its id. "
        "Only `fields` may be sent with it.",
    )
    fields = CommaList(  # type: ignore[assignment]  # the API's name
        child=serializers.ChoiceField(choices=MemoryOut.Meta.fields),
        required=False,
        help_text="The fields of each memory; by default all.",
    )

    def to_internal_value(self, data: Any) -> Any:
        others = set(data) - {"ids", "fields", "project_id", "project"}
        if "ids" in data and others:
            raise serializers.ValidationError(
                {name: ["Leave it out if you send ids."] for name in sorted(others)}
            )
        return super().to_internal_value(data)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        keys = [key for key in (*KEY_FIELDS.values(), "object_type") if key in attrs]
        kind = attrs.get("scope")
        if keys and not kind:
            message = "Send the kind of the scope too, for example scope=user."
            raise serializers.ValidationError({key: [message] for key in keys})
        if kind:
            if kind == "user" and "session_id" in keys:
                # the session that include_narrower adds to the read
                keys.remove("session_id")
            form = ScopeSerializer(data={"kind": kind, **{k: attrs[k] for k in keys}})
            form.is_valid(raise_exception=True)
            attrs["scope"] = form.validated_data
        return attrs


class Supersede(Note):
    by = serializers.UUIDField()


class DeleteByScope(InProject):
    scope = ScopeSerializer()
