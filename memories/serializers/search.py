"""Serializers of searches and of their results."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.moments import LowerBound, UpperBound
from common.api.serializers import InProject, PlainSerializer
from common.caller import Caller
from memories import scopes
from memories.models import Memory
from memories.queries import Filters
from memories.read import search
from memories.serializers.fields import (
    MetadataField,
    PathField,
    ScopeSerializer,
    TagsField,
)
from memories.serializers.memories import FileLink, MemoryOut
from projects.models import Project


class FilterFields(serializers.Serializer[Any]):
    """The filters of REQ-MEM-SEARCH-005 and of scopes.

    In the request, these fields are not nested.
    """

    memory_types = serializers.ListField(
        child=serializers.ChoiceField(choices=Memory.Type.choices), required=False
    )
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=Memory.Kind.choices), required=False
    )
    tags = TagsField(required=False)
    tags_match = serializers.ChoiceField(choices=["all", "any"], default="all")
    file_paths = serializers.ListField(
        child=PathField(), max_length=100, required=False
    )
    agent_ids = serializers.ListField(
        child=serializers.CharField(max_length=255), max_length=100, required=False
    )
    date_from = LowerBound(required=False, allow_null=True)
    date_to = UpperBound(required=False, allow_null=True)
    scope = ScopeSerializer(required=False, allow_null=True)
    sensitivities = serializers.ListField(
        child=serializers.ChoiceField(choices=Memory.Sensitivity.choices),
        required=False,
    )
    metadata = MetadataField(required=False)
    include_duplicates = serializers.BooleanField(
        default=False,
        help_text="Also memories that repeat an earlier one (`is_duplicate`).",
    )


def filters_of(data: dict[str, Any]) -> Filters:
    return Filters(
        memory_types=tuple(data.get("memory_types", ())),
        kinds=tuple(data.get("kinds", ())),
        tags=tuple(data.get("tags", ())),
        tags_match=data.get("tags_match", "all"),
        file_paths=tuple(data.get("file_paths", ())),
        agent_ids=tuple(data.get("agent_ids", ())),
        date_from=data.get("date_from"),
        date_to=data.get("date_to"),
        include_duplicates=data.get("include_duplicates", False),
        sensitivities=tuple(data.get("sensitivities", ())),
        metadata=tuple(data.get("metadata", ())),
        outcome=data.get("outcome", ""),
    )


class WeightsSerializer(serializers.Serializer[Any]):
    keyword = serializers.FloatField(min_value=0, max_value=1, default=0.5)
    semantic = serializers.FloatField(min_value=0, max_value=1, default=0.5)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not any(attrs.values()):
            raise serializers.ValidationError("One of the two must be above 0.")
        return attrs


class SearchRequest(InProject, FilterFields):
    query = serializers.CharField(max_length=search.MAX_QUERY)
    mode = serializers.ChoiceField(
        choices=["hybrid", "semantic", "keyword"], default="hybrid"
    )
    syntax = serializers.ChoiceField(
        choices=["plain", "operators"],
        default="plain",
        help_text='With `operators`, `"quoted words"` must stand side by side and '
        "`-word` leaves out what holds the word. With `plain`, quotes and dashes are text.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=10)
    min_score = serializers.FloatField(required=False, allow_null=True)
    cutoff = serializers.ChoiceField(
        choices=["auto", "none"],
        default="none",
        help_text="With `auto`, hits that do not answer the query are left out.",
    )
    fusion = serializers.ChoiceField(choices=["relative", "rrf"], required=False)
    weights = WeightsSerializer(required=False)
    explain = serializers.BooleanField(
        default=False, help_text="Say in `explanation` how each lane found its rows."
    )
    fields = serializers.ListField(  # type: ignore[assignment]  # the API's name
        child=serializers.ChoiceField(choices=MemoryOut.Meta.fields),
        min_length=1,
        max_length=len(MemoryOut.Meta.fields),
        required=False,
        help_text="The fields of each hit's memory; by default all. The `files` of a hit "
        "are left out unless they are named.",
    )


def request_of(
    data: dict[str, Any], project: Project, caller: Caller
) -> search.MemorySearch:
    """Return the search that a valid request asks for."""
    weights = data.get("weights") or {}
    scope = data.get("scope")
    return search.MemorySearch(
        query=data["query"],
        mode=data["mode"],
        syntax=data["syntax"],
        limit=data["limit"],
        filters=filters_of(data),
        scope=scopes.resolve(scope, project, caller) if scope else None,
        min_score=data.get("min_score"),
        cutoff=data["cutoff"],
        fusion=data.get("fusion"),
        keyword_weight=weights.get("keyword"),
        semantic_weight=weights.get("semantic"),
        explain=data["explain"],
    )


class LaneOut(PlainSerializer):
    rank = serializers.IntegerField(help_text="The place in this lane, from 1.")
    score = serializers.FloatField(help_text="The score on the scale of this lane.")


class HitOut(PlainSerializer):
    memory = MemoryOut()
    score = serializers.FloatField()
    lanes = serializers.DictField(child=LaneOut())
    snippet = serializers.CharField()
    snippet_field = serializers.CharField()
    relevant = serializers.BooleanField(source="is_relevant")
    files = FileLink(source="memory.file_links", many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        asked = self.context.get("fields")
        if asked and "files" not in asked:
            del fields["files"]
        return fields


class SearchAnswer(serializers.Serializer[Any]):
    hits = HitOut(many=True)
    took_ms = serializers.FloatField()
    mode = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())
    explanation = serializers.DictField(required=False, allow_null=True)
