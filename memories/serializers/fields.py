"""Fields and serializers that several other serializers share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction, extend_schema_field
from rest_framework import serializers

from common.api.serializers import NameField, NullIsAbsent
from common.text.paths import clean_path
from memories import metadata_filter
from memories.metadata_filter import BadMetadataFilter
from memories.models import (
    Memory,
    MemoryFile,
)
from memories.scopes import KEY_FIELDS
from memories.store.drafts import MAX_TAG

# The maximum lengths are listed in docs/limits.md.
TAGS, LINKS, PATH = 100, 1_000, 1_000
PATH_BYTES = 2_500  # a b-tree entry has 2,704 bytes at most, with the project's id


# The fields of each kind of scope: those that it needs, and those that it may have.
SCOPE_FIELDS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "workspace": ([], ["workspace_id"]),
    "user": ([], ["user_id"]),
    "session": (["session_id"], ["user_id"]),
    "org": ([], ["org_id"]),
    "object": (["object_type", "object_id"], []),
}
SCOPE_TEXTS = {
    "workspace": "Everybody in the project. Without `workspace_id`, the project's own "
    "workspace; with another, a workspace that only reads with this name show.",
    "user": "One user. Only a key that is bound to a user may leave `user_id` out.",
    "session": "One session, of one user if `user_id` is given.",
    "org": "Everybody in the organization. `org_id` may be left out.",
    "object": "A thing of your own, such as a ticket.",
}

KEY_TEXTS = {
    "workspace_id": "The id of the project, or your name of a workspace.",
    "user_id": "Your name of the user. It is kept as it is sent.",
    "session_id": "Your name of the session. It is kept as it is sent.",
    "org_id": "The id, the slug or the name of the organization.",
    "object_type": "Your name of the kind of thing, such as `ticket`.",
    "object_id": "Your name of the thing.",
}


class VerbatimField(serializers.CharField):
    """A text that is kept as it was sent, with the spaces around it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": 255, "trim_whitespace": False} | kwargs)


class ScopeSerializer(serializers.Serializer[Any]):
    """A scope with its kind and its key, as in `{"kind": "user", "user_id": "u1"}`.

    A null key is refused, because a scope without its key would be a broader scope.
    """

    kind = serializers.ChoiceField(choices=Memory.ScopeKind.choices)
    session_id = VerbatimField(required=False)
    user_id = VerbatimField(required=False)
    workspace_id = VerbatimField(required=False)
    org_id = VerbatimField(required=False)
    object_type = VerbatimField(required=False)
    object_id = VerbatimField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind = attrs["kind"]
        foreign = set(attrs) - {"kind", KEY_FIELDS[kind], "object_type"}
        if kind == "session":
            foreign -= {"user_id"}
        if kind != "object" and "object_type" in attrs:
            foreign.add("object_type")
        if foreign:
            raise serializers.ValidationError(
                f"{', '.join(sorted(foreign))} does not belong to a {kind} scope."
            )
        if kind == "object" and not {"object_type", "object_id"} <= set(attrs):
            raise serializers.ValidationError(
                "An object scope needs object_type and object_id."
            )
        return attrs


class ScopeSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # registers itself
    """Describe each kind of scope with the fields that belong to it."""

    target_class = ScopeSerializer

    def map_serializer(
        self, auto_schema: AutoSchema, direction: Direction
    ) -> dict[str, Any]:
        places = {
            kind: self._register(auto_schema, kind, needed, more)
            for kind, (needed, more) in SCOPE_FIELDS.items()
        }
        return {
            "description": "Whom a memory belongs to: its kind, and the key of the kind.",
            "oneOf": [{"$ref": place} for place in places.values()],
            "discriminator": {"propertyName": "kind", "mapping": places},
        }

    def _register(
        self,
        auto_schema: AutoSchema,
        kind: str,
        needed: Sequence[str],
        more: Sequence[str],
    ) -> str:
        name = f"{kind.capitalize()}Scope"
        key = {"type": "string", "minLength": 1, "maxLength": 255}
        kinds = {"type": "string", "enum": [kind], "description": "The kind of scope."}
        schema = {
            "type": "object",
            "description": SCOPE_TEXTS[kind],
            "properties": {
                "kind": kinds,
                **{
                    field: key | {"description": KEY_TEXTS[field]}
                    for field in (*needed, *more)
                },
            },
            "required": ["kind", *needed],
            "additionalProperties": False,
        }
        component = ResolvedComponent(  # type: ignore[no-untyped-call]  # the library's
            name, ResolvedComponent.SCHEMA, schema, name
        )
        auto_schema.registry.register_on_missing(component)
        place: str = component.ref["$ref"]
        return place


@extend_schema_field(ScopeSerializer)
class ScopeOut(serializers.DictField):
    """The scope of a memory, as an answer shows it."""

    child = serializers.CharField()

    def __init__(self, **kwargs: Any) -> None:
        text = "Whom the memory belongs to: the kind of the scope and its key."
        kwargs.setdefault("read_only", True)
        kwargs.setdefault("help_text", text)
        super().__init__(**kwargs)


SOURCE_HELP = (
    "Whose words the content is: those of a person (`user`), of an agent, of a reflection "
    "on a task (`reflect`), of the service (`system`), of a tool, or of an import."
)


class TagsField(serializers.ListField):
    """A list of at most a hundred names.

    A name has 1 to 64 characters and is not trimmed.
    """

    child = NameField(max_length=MAX_TAG, trim_whitespace=False)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": TAGS} | kwargs)


class PathField(serializers.CharField):
    """A cleaned path that is short enough for the unique index of files."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": PATH} | kwargs)

    def to_internal_value(self, data: Any) -> str:
        value = clean_path(super().to_internal_value(data))
        if not value:
            self.fail("blank")
        if len(value) > PATH:
            self.fail("max_length", max_length=PATH)
        if len(value.encode()) > PATH_BYTES:
            raise serializers.ValidationError(
                f"Ensure this field has no more than {PATH_BYTES} bytes in UTF-8."
            )
        return value


METADATA_HELP = (
    "Only memories whose metadata match every key: a value to equal, or an object with "
    "`in` (a list) or `exists` (true or false)."
)


class MetadataField(serializers.DictField):
    """A filter of metadata, as in `{"ticket": 17, "stage": {"in": ["new", "open"]}}`."""

    default_error_messages = {"not_a_dict": "Must be an object of keys and conditions."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"help_text": METADATA_HELP} | kwargs)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return metadata_filter.parse(super().to_internal_value(data))
        except BadMetadataFilter as error:
            raise serializers.ValidationError(str(error)) from error


@extend_schema_field({"type": "string"})
class MetadataQueryField(MetadataField):
    """A filter of metadata as JSON in a query string."""

    def __init__(self, **kwargs: Any) -> None:
        text = f'{METADATA_HELP} As JSON: `metadata={{"ticket": 17}}`.'
        super().__init__(**{"help_text": text} | kwargs)

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, serializers.empty)

    def to_internal_value(self, data: Any) -> Any:
        try:
            read = json.loads(data)
        except (ValueError, RecursionError) as error:
            message = f'Send JSON, such as {{"ticket": 17}}: {error}.'
            raise serializers.ValidationError(message) from error
        return super().to_internal_value(read)


class FileRefSerializer(NullIsAbsent):
    file_path = PathField()
    relation_type = serializers.ChoiceField(
        choices=MemoryFile.Relation.choices, default="referenced"
    )
    line_start = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False
    )
    line_end = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False
    )
    content_hash = serializers.CharField(max_length=128, allow_blank=True, default="")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        start, end = attrs.get("line_start"), attrs.get("line_end")
        if end is not None and (start is None or end < start):
            raise serializers.ValidationError(
                "line_end needs a line_start that is not greater."
            )
        return attrs


class CommaList(serializers.ListField):
    """A list in a query string.

    The parameter may be repeated, or its values may be separated by commas.
    """

    def to_internal_value(self, data: Any) -> list[Any]:
        parts = data if isinstance(data, list) else [data]
        split = [part for item in parts for part in str(item).split(",") if part]
        value: list[Any] = super().to_internal_value(split)
        return value


class TagsQuery(serializers.Serializer[Any]):
    """The tags that a list in a query string must have."""

    tags = CommaList(
        child=NameField(max_length=MAX_TAG, trim_whitespace=False), required=False
    )
    tag = TagsField(
        required=False,
        help_text="A tag that may have a comma. Repeat the parameter for several tags.",
    )
    tags_match = serializers.ChoiceField(choices=["all", "any"], default="all")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if one_by_one := attrs.pop("tag", []):
            attrs["tags"] = [*attrs.get("tags", []), *one_by_one]
        return attrs


class Note(serializers.Serializer[Any]):
    note = serializers.CharField(
        max_length=500, required=False, allow_blank=True, default=""
    )
