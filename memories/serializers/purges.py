"""Serializers of the selection, the preview and the receipt of a purge."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from memories.models import Purge, PurgedText
from memories.serializers.fields import ScopeSerializer, VerbatimField
from memories.store.drafts import MAX_CONTENT

IDS = 500  # docs/limits.md
SELECTIONS = ("ids", "scope", "user_id", "session_id", "object")


class ObjectSerializer(serializers.Serializer[Any]):
    object_type = VerbatimField()
    object_id = VerbatimField()


class PurgeRequest(InProject):
    """The texts to purge.

    Exactly one of `ids`, `scope`, `user_id`, `session_id` and `object` is given.
    """

    ids = serializers.ListField(
        child=serializers.UUIDField(),
        max_length=IDS,
        allow_empty=False,
        required=False,
    )
    scope = ScopeSerializer(required=False)
    user_id = VerbatimField(required=False)
    session_id = VerbatimField(required=False)
    object = ObjectSerializer(required=False)
    cascade = serializers.BooleanField(default=False)
    dry_run = serializers.BooleanField(default=False)
    reason = serializers.CharField(max_length=500)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        named = [name for name in SELECTIONS if name in attrs]
        if len(named) != 1:
            raise serializers.ValidationError(
                f"Name exactly one of {', '.join(SELECTIONS)}."
            )
        return attrs


class DescendantOut(serializers.Serializer[Any]):
    kind = serializers.CharField()
    id = serializers.UUIDField()
    how = serializers.CharField()
    is_purged = serializers.BooleanField()


class PurgePlanOut(serializers.Serializer[Any]):
    """A preview of what a purge would remove now.

    Nothing was changed.
    """

    dry_run = serializers.BooleanField(default=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    descendants = DescendantOut(many=True)


class PurgedTextOut(serializers.ModelSerializer[PurgedText]):
    class Meta:
        model = PurgedText
        fields = ("hmac", "table", "column", "row_id")
        read_only_fields = fields


RECEIPT = (
    "id",
    "project_id",
    "state",
    "selection",
    "cascade",
    "reason",
    "counts",
    "descendants",
    "actor",
    "job_id",
    "created_at",
    "done_at",
)


class PurgeOut(serializers.ModelSerializer[Purge]):
    """The receipt of a purge in a list.

    The receipt has no HMACs.
    """

    project_id = serializers.UUIDField()
    counts = serializers.DictField(child=serializers.IntegerField())
    descendants = DescendantOut(many=True)

    class Meta:
        model = Purge
        fields: tuple[str, ...] = RECEIPT
        read_only_fields = fields


class PurgeReceiptOut(PurgeOut):
    """The receipt of a purge, with a page of the HMACs of the purged texts."""

    texts = PurgedTextOut(many=True)
    texts_after = serializers.UUIDField(allow_null=True)

    class Meta(PurgeOut.Meta):
        fields = (*RECEIPT, "texts", "texts_after")
        read_only_fields = fields


class TextsQuery(serializers.Serializer[Any]):
    after = serializers.UUIDField(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=1000)


class ListPurges(InProject, PageQuery):
    pass


class ProofRequest(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=MAX_CONTENT, trim_whitespace=False)


class ProofOut(serializers.Serializer[Any]):
    """The answer whether exactly this text was purged, and where the text was."""

    is_purged = serializers.BooleanField()
    texts = PurgedTextOut(many=True)
