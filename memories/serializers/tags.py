"""Serializers of the tags of a project."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, NameField, PageQuery
from memories.models import Tag
from memories.store.drafts import MAX_TAG


class TagOut(serializers.ModelSerializer[Tag]):
    project_id = serializers.UUIDField(read_only=True)
    usage_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Tag
        fields = (
            "id",
            "project_id",
            "name",
            "description",
            "category",
            "usage_count",
            "created_at",
        )
        read_only_fields = fields


class UpdateTag(serializers.Serializer[Any]):
    name = NameField(max_length=MAX_TAG, trim_whitespace=False, required=False)
    description = serializers.CharField(
        max_length=2000, required=False, allow_blank=True
    )
    category = NameField(max_length=64, required=False, allow_blank=True)


class CreateTag(InProject, UpdateTag):
    name = NameField(max_length=MAX_TAG, trim_whitespace=False)


class TagQuery(InProject, PageQuery):
    category = NameField(max_length=64, required=False)
    q = NameField(max_length=64, required=False)


class MergeTag(serializers.Serializer[Any]):
    into = NameField(
        max_length=64, trim_whitespace=False, help_text="The name or id of a tag."
    )
