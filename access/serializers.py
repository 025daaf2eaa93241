"""Serializers of projects, members, keys, the audit record and jobs."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from access.models import ApiKey
from audit.models import AuditEvent
from common.api.moments import LowerBound, UpperBound
from common.api.serializers import NameField, PageQuery
from common.caller import Role
from jobs.models import Job
from projects.lifecycle import DEFAULT_ORGANIZATION
from projects.models import Membership, Project
from projects.options import ProjectOptions


class RoleField(serializers.ChoiceField):
    """A role by name; its Python value is a `Role`."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("choices", [role.label for role in Role])
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        label = super().to_internal_value(data)
        return next(role for role in Role if role.label == label)

    def to_representation(self, value: Any) -> str:
        return str(Role(value).label)


class CreateProject(serializers.Serializer[Any]):
    name = NameField(max_length=200)
    description = serializers.CharField(
        max_length=5000, required=False, allow_blank=True
    )
    repository_url = serializers.CharField(
        max_length=500, required=False, allow_blank=True
    )
    current_branch = serializers.CharField(
        max_length=255, required=False, allow_blank=True
    )
    settings = serializers.DictField(
        required=False, help_text="Only what differs from the defaults."
    )
    organization = serializers.SlugField(
        max_length=64,
        required=False,
        default=DEFAULT_ORGANIZATION,
        help_text="Its short name; created if there is none.",
    )


class ChangeProject(serializers.Serializer[Any]):
    name = NameField(max_length=200, required=False)
    description = serializers.CharField(
        max_length=5000, required=False, allow_blank=True
    )
    repository_url = serializers.CharField(
        max_length=500, required=False, allow_blank=True
    )
    current_branch = serializers.CharField(
        max_length=255, required=False, allow_blank=True
    )
    settings = serializers.DictField(
        required=False, help_text="Merged; null resets a setting to its default."
    )
    version = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="The version you read; a stale one gets a 409 with the current one.",
    )


class ListProjects(PageQuery):
    name = NameField(required=False, max_length=200)
    deleted = serializers.BooleanField(
        required=False, default=False, help_text="List those you can still restore."
    )


class ProjectOut(serializers.ModelSerializer[Project]):
    organization = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    settings = serializers.SerializerMethodField()

    class Meta:
        model = Project
        fields = [
            "id",
            "name",
            "organization",
            "description",
            "repository_url",
            "current_branch",
            "settings",
            "version",
            "created_at",
            "updated_at",
            "delete_after",
        ]
        read_only_fields = fields

    @extend_schema_field(ProjectOptions)  # type: ignore[arg-type]  # its extension knows pydantic
    def get_settings(self, project: Project) -> dict[str, Any]:
        return project.options.model_dump(mode="json")


class SetMember(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    role = RoleField()


class RemoveMember(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)


class MemberOut(serializers.ModelSerializer[Membership]):
    username = serializers.CharField(source="account.username", read_only=True)
    role = RoleField(read_only=True)

    class Meta:
        model = Membership
        fields = ["username", "role", "created_at"]
        read_only_fields = fields


class IssueKey(serializers.Serializer[Any]):
    name = NameField(max_length=200)
    role = RoleField(default=Role.WRITER)
    projects = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        default=list,
        max_length=100,
        help_text="Ids or names; without any, the key is for every project.",
    )
    agent_id = serializers.CharField(
        max_length=255, required=False, default="", allow_blank=True
    )
    user_id = serializers.CharField(
        max_length=255,
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text="The user whose scope and sessions the key is for, as scopes name it.",
    )
    expires_at = serializers.DateTimeField(
        required=False, default=None, allow_null=True
    )

    may_attest = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Whether the project believes this key's reports of tests and facts.",
    )
    acts_for_users = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Whether this key writes profile and soul of every user, as the server of "
        "an application does.",
    )

    def validate_expires_at(self, value: Any) -> Any:
        if value and value <= timezone.now():
            raise serializers.ValidationError("must be in the future")
        return value


class ChangeKey(serializers.Serializer[Any]):
    may_attest = serializers.BooleanField(
        required=False,
        help_text="Whether the project believes this key's reports of tests and facts.",
    )
    acts_for_users = serializers.BooleanField(
        required=False,
        help_text="Whether this key writes profile and soul of every user.",
    )

    def validate(self, attrs: Any) -> Any:
        if not attrs:
            raise serializers.ValidationError("Name what is to change.")
        return attrs


class RotateKey(serializers.Serializer[Any]):
    overlap_hours = serializers.IntegerField(
        required=False,
        default=24,
        min_value=0,
        max_value=720,
        help_text="How long the old key stays usable.",
    )


class ListKeys(PageQuery):
    project_id = serializers.UUIDField(required=False)
    usable = serializers.BooleanField(required=False, default=False)


class KeyOut(serializers.ModelSerializer[ApiKey]):
    role = RoleField(read_only=True)
    projects = serializers.PrimaryKeyRelatedField[Any](many=True, read_only=True)

    class Meta:
        model = ApiKey
        fields = [
            "id",
            "name",
            "prefix",
            "role",
            "everywhere",
            "projects",
            "agent_id",
            "user_id",
            "may_attest",
            "acts_for_users",
            "created_by",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
            "replaced_by",
            "line_id",
        ]
        read_only_fields = fields


class IssuedKeyOut(KeyOut):
    secret = serializers.CharField(
        read_only=True,
        allow_null=True,
        help_text="Returned once; null if an Idempotency-Key replays the answer.",
    )

    class Meta(KeyOut.Meta):
        fields = [*KeyOut.Meta.fields, "secret"]
        read_only_fields = fields


class ListAudit(PageQuery):
    project_id = serializers.CharField(required=False, max_length=200)
    verb = serializers.CharField(required=False, max_length=64)
    actor = serializers.CharField(required=False, max_length=200)
    object_id = serializers.CharField(required=False, max_length=255)
    date_from = LowerBound(required=False)
    date_to = UpperBound(required=False)


class AuditOut(serializers.ModelSerializer[AuditEvent]):
    detail = serializers.DictField(read_only=True)

    class Meta:
        model = AuditEvent
        fields = [
            "id",
            "at",
            "verb",
            "actor",
            "key_id",
            "account_id",
            "agent_id",
            "project_id",
            "object_type",
            "object_id",
            "before_hash",
            "after_hash",
            "detail",
            "request_id",
            "address",
        ]
        read_only_fields = fields


class ListJobs(PageQuery):
    project_id = serializers.CharField(required=False, max_length=200)
    kind = serializers.CharField(required=False, max_length=64)
    state = serializers.ChoiceField(required=False, choices=Job.State.choices)


class ProgressOut(serializers.Serializer[Any]):
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)


class JobOut(serializers.ModelSerializer[Job]):
    progress = ProgressOut(read_only=True)
    args = serializers.DictField(read_only=True)
    result = serializers.DictField(read_only=True)

    class Meta:
        model = Job
        fields = [
            "id",
            "kind",
            "project_id",
            "state",
            "progress",
            "attempts",
            "args",
            "result",
            "error",
            "run_after",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields
