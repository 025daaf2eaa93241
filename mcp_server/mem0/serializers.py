"""The bodies and queries of mem0's HTTP API."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from common.api.parsing import make_storable, parse_object
from common.api.serializers import NullIsAbsent
from common.pagination import MAX_LIMIT
from mcp_server.mem0 import answers, entities
from mcp_server.mem0.entities import EntityIds
from mcp_server.mem0.filter_tree import parse
from mcp_server.mem0.messages import MAX_MESSAGES
from mcp_server.mem0.moments import BadMoment, last_moment, read_moment
from mcp_server.mem0.refusals import UnsupportedOption
from memories.read.search import MAX_QUERY
from memories.serializers.fields import VerbatimField
from memories.store.drafts import MAX_CONTENT

MAX_PAGE, MAX_ENTITIES = 10_000, 1_000  # the last page; entities of a page
MAX_CHANGED, MAX_DELETED = 100, 500  # memories of a batch
IN_FILTERS = "send it inside `filters`."
MAX_FILTER_TEXT = 5_000  # characters of filters in a query
# What `update` may change, and the field of the memory that has it.
COLUMNS = {
    "text": "content",
    "metadata": "metadata",
    "timestamp": "occurred_at",
    "expiration_date": "expires_at",
}


class MomentField(serializers.Field[Any, Any, Any, Any]):
    """A time: ISO 8601, or seconds since 1970."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return read_moment(data)[0]
        except BadMoment as error:
            raise serializers.ValidationError(str(error)) from None

    def to_representation(self, value: Any) -> Any:
        return value.isoformat()


class LastDayField(serializers.DateField):
    """The last day of a memory, which expires when the day ends in UTC."""

    def to_internal_value(self, value: Any) -> Any:
        return last_moment(super().to_internal_value(value))


class OptionsBody(NullIsAbsent):
    """A body with options of mem0 that may have no counterpart here."""

    # What to do instead, by the name of the option.
    unsupported: ClassVar[Mapping[str, str]] = {}


class EntityIdField(VerbatimField):
    """The id of an entity; if it were left out, the request would mean more memories.

    An empty or null one is therefore refused in a body and in a query, where DRF and
    NullIsAbsent take it for one that was not sent.
    """

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, serializers.empty)

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None:
            self.fail("null")
        return super().validate_empty_values(data)


class EntityFields(serializers.Serializer[Any]):
    user_id = EntityIdField(required=False)
    agent_id = EntityIdField(required=False)
    app_id = EntityIdField(required=False)
    run_id = EntityIdField(required=False)


class AddMemories(OptionsBody, EntityFields):
    """What mem0's `add` sends."""

    null_fields = frozenset(entities.NAMES)
    unsupported = {
        "custom_categories": "the categories of a memory are its tags; set them by the API.",
        "custom_instructions": "facts are found by rules of this service; leave it out.",
        "agent_custom_instructions": "facts are found by rules of this service; leave it "
        "out.",
        "structured_data_schema": "send structured data as `metadata`.",
    }

    messages = serializers.ListField(
        child=serializers.DictField(), min_length=1, max_length=MAX_MESSAGES
    )
    filters = serializers.DictField(required=False)
    metadata = serializers.DictField(required=False)
    infer = serializers.BooleanField(default=True)
    timestamp = MomentField(required=False)
    expiration_date = LastDayField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["ids"] = self._read_ids(attrs)
        app_id = attrs["ids"].app_id
        kept = attrs.get("metadata", {}).get(entities.APP_KEY, app_id)
        if app_id and kept != app_id:
            message = "It names another app than `app_id`; send one of the two."
            raise serializers.ValidationError({"metadata": [message]})
        return attrs

    def _read_ids(self, attrs: Mapping[str, Any]) -> EntityIds:
        """Return the ids, which may stand in `filters` too."""
        sent = {name: attrs[name] for name in entities.NAMES if name in attrs}
        inner = attrs.get("filters", {})
        others = inner.keys() - {*entities.NAMES}
        if others or not all(isinstance(each, str) and each for each in inner.values()):
            names = ", ".join(entities.NAMES)
            message = f"To store, send only {names} here, as texts that are not empty."
            raise serializers.ValidationError({"filters": [message]})
        for name, value in inner.items():
            if sent.setdefault(name, value) != value or len(value) > 255:
                message = "It differs from the same name outside, or is too long."
                raise serializers.ValidationError({f"filters.{name}": [message]})
        return EntityIds(**sent)


class FilterBody(OptionsBody):
    """The fields by which mem0's `search` and `get_all` choose memories."""

    unsupported = {
        **dict.fromkeys(entities.NAMES, IN_FILTERS),
        "show_expired": "no read returns an expired memory; leave it out.",
        "reference_date": "name the days in `filters`, as created_at.",
    }

    filters = serializers.DictField(required=False)
    categories = serializers.ListField(
        child=serializers.CharField(max_length=64),
        min_length=1,
        max_length=100,
        required=False,
    )
    fields = serializers.ListField(  # type: ignore[assignment]  # mem0's name
        child=serializers.ChoiceField(choices=answers.FIELDS), required=False
    )
    show_expired = serializers.BooleanField(default=False)
    latest_only = serializers.BooleanField(default=True)

    def validate_latest_only(self, value: bool) -> bool:
        if not value:
            raise UnsupportedOption(
                "latest_only: no read returns a memory that another one has replaced; "
                "leave it out."
            )
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        further = self.further_filters(attrs)
        attrs["filters"] = parse(attrs.get("filters", {}), *further)
        return attrs

    def further_filters(self, attrs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return as filters the other fields that choose memories."""
        named = attrs.get("categories")
        return [{"categories": {"in": named}}] if named else []


class SearchMemories(FilterBody):
    """What mem0's `search` sends."""

    query = serializers.CharField(max_length=MAX_QUERY)
    top_k = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=10)
    threshold = serializers.FloatField(min_value=0, max_value=1, default=0.0)
    metadata = serializers.DictField(required=False)
    rerank = serializers.BooleanField(default=False)
    keyword_search = serializers.BooleanField(default=True)

    def further_filters(self, attrs: Mapping[str, Any]) -> list[dict[str, Any]]:
        metadata = attrs.get("metadata")
        further = super().further_filters(attrs)
        return [*further, {"metadata": metadata}] if metadata else further


class ListMemories(FilterBody):
    """What mem0's `get_all` sends."""

    start_date = serializers.CharField(max_length=64, required=False)
    end_date = serializers.CharField(max_length=64, required=False)

    def further_filters(self, attrs: Mapping[str, Any]) -> list[dict[str, Any]]:
        ends = {"gte": attrs.get("start_date"), "lte": attrs.get("end_date")}
        period = {operator: day for operator, day in ends.items() if day}
        further = super().further_filters(attrs)
        return [*further, {"created_at": period}] if period else further


class NumberedPage(serializers.Serializer[Any]):
    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1)
    page_size = serializers.IntegerField(
        min_value=1, max_value=MAX_LIMIT, default=MAX_LIMIT
    )


class EntityPage(NumberedPage):
    # The client reads one page only, and `delete_users` deletes what is on it.
    page_size = serializers.IntegerField(
        min_value=1, max_value=MAX_ENTITIES, default=MAX_ENTITIES
    )


class ChangeMemory(serializers.Serializer[Any]):
    """What mem0's `update` sends; a day that is null removes the expiry."""

    text = serializers.CharField(
        max_length=MAX_CONTENT, trim_whitespace=False, required=False
    )
    metadata = serializers.DictField(required=False)
    timestamp = MomentField(required=False)
    expiration_date = LastDayField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs.keys() & COLUMNS.keys():
            raise serializers.ValidationError(
                f"Send at least one of {', '.join(COLUMNS)}."
            )
        return attrs


class DeleteQuery(serializers.Serializer[Any]):
    delete_linked = serializers.BooleanField(default=False)


class MemoryOfBatch(serializers.Serializer[Any]):
    memory_id = serializers.CharField(max_length=64)


class ChangeOfBatch(MemoryOfBatch, ChangeMemory):
    """One change of mem0's `batch_update`."""


class ChangeMemories(serializers.Serializer[Any]):
    memories = serializers.ListField(
        child=ChangeOfBatch(), min_length=1, max_length=MAX_CHANGED
    )


class DeleteMemories(serializers.Serializer[Any]):
    memories = serializers.ListField(
        child=MemoryOfBatch(), min_length=1, max_length=MAX_DELETED
    )


class DeleteAllQuery(EntityFields):
    """What mem0's `delete_all` sends: ids, or filters, which a query holds as a text."""

    filters = serializers.CharField(max_length=MAX_FILTER_TEXT, required=False)

    def validate_filters(self, value: str) -> Any:
        """Read JSON, or the dict that the Python client writes as Python does.

        What is read passes the checks of a body.
        """
        if (text := _json_of(value)) is None:
            raise serializers.ValidationError("Send the filters as a JSON object.")
        return make_storable(parse_object(text.encode())).value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        ids = {name: attrs[name] for name in entities.NAMES if name in attrs}
        attrs["matching"] = parse(attrs.get("filters", {}), ids)
        if not attrs["matching"].parts:
            raise serializers.ValidationError(
                f"Name whose memories to delete: {', '.join(entities.NAMES)} or filters; "
                '"*" is everybody.'
            )
        attrs["ids"] = None
        is_scope = (
            not attrs.keys() & {"filters", "agent_id"} and "*" not in ids.values()
        )
        if is_scope and not ("app_id" in ids and len(ids) > 1):
            attrs["ids"] = EntityIds(**ids)
        return attrs


class MemoryFeedback(NullIsAbsent, MemoryOfBatch):
    """What mem0's `feedback` sends."""

    feedback = serializers.ChoiceField(
        choices=["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"], required=False
    )
    feedback_reason = serializers.CharField(max_length=500, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("feedback") != "POSITIVE":
            raise UnsupportedOption(
                "feedback: a memory has no votes against it here. POSITIVE confirms it; "
                "update or delete one that is wrong."
            )
        return attrs


class NewProject(NullIsAbsent):
    name = serializers.CharField(max_length=200)
    description = serializers.CharField(
        max_length=5_000, required=False, allow_blank=True
    )


class ProjectQuery(serializers.Serializer[Any]):
    # The client repeats the ids of the path.
    org_id = serializers.CharField(max_length=64, required=False)
    project_id = serializers.CharField(max_length=200, required=False)
    fields = serializers.ListField(  # type: ignore[assignment]  # mem0's name
        child=serializers.ChoiceField(choices=answers.PROJECT_FIELDS), required=False
    )


def _json_of(text: str) -> str | None:
    """Return the JSON object that a text is, or that a dict of Python means."""
    try:
        is_object, found = isinstance(json.loads(text), dict), text
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text)
            is_object, found = isinstance(value, dict), json.dumps(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None
    return found if is_object else None


def columns_of(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of `update` by the names that the memory has for them."""
    return {COLUMNS[name]: value for name, value in changes.items() if name in COLUMNS}
