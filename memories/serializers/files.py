"""Serializers of the files of the code base."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from memories.models import File
from memories.serializers.fields import PathField


class HiddenFromBoundUsers:
    """Hide a field from a bound caller.

    The value of the field comes from all users of the file.
    """

    hidden_value: Any = None

    def get_attribute(self, file: Any) -> Any:
        is_bound = bool(self.context["caller"].user_id)  # type: ignore[attr-defined]
        return self.hidden_value if is_bound else super().get_attribute(file)  # type: ignore[misc]


class PastTime(HiddenFromBoundUsers, serializers.DateTimeField):
    pass


class FormerPaths(HiddenFromBoundUsers, serializers.ListField):
    child = serializers.CharField()
    hidden_value = ()


class FileOut(serializers.ModelSerializer[File]):
    project_id = serializers.UUIDField(read_only=True)
    memory_count = serializers.IntegerField(read_only=True)
    renamed_from = FormerPaths(read_only=True)
    first_seen_at = PastTime(allow_null=True, read_only=True)
    last_seen_at = PastTime(allow_null=True, read_only=True)

    class Meta:
        model = File
        fields = (
            "id",
            "project_id",
            "file_path",
            "file_type",
            "last_content_hash",
            "renamed_from",
            "memory_count",
            "first_seen_at",
            "last_seen_at",
        )
        read_only_fields = fields


class FileQuery(InProject, PageQuery):
    path = PathField(required=False, help_text="A prefix of the paths.")


class RenameFile(InProject):
    old_path = PathField()
    new_path = PathField()


class SeenFile(serializers.Serializer[Any]):
    path = PathField()
    hash = serializers.CharField(max_length=128, allow_null=True)


class SyncFiles(InProject):
    files = SeenFile(many=True, max_length=10_000)  # type: ignore[call-arg]  # a list's


class SyncOut(serializers.Serializer[Any]):
    files = serializers.IntegerField()
    changed = serializers.IntegerField()
    gone = serializers.IntegerField()
    suspect = serializers.IntegerField()
    attested = serializers.BooleanField(
        help_text="Whether the key may attest. If not, no playbook entry becomes suspect."
    )
