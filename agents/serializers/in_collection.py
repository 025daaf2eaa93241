"""The mixin of a body or a query that names a project as seed 004 does."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common import errors

NAMES = ("collection", "project_id", "project")


class InCollection(serializers.Serializer[Any]):
    """Name the project by one of three names; see `AgentView.project`."""

    collection = serializers.CharField(
        max_length=200,
        required=False,
        help_text="The project's id or name, as seed 004 calls it.",
    )
    project_id = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Another name of `collection`; send one of the two.",
    )
    project = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Another name of `collection`; send one of the two.",
    )


def project_name(data: Any) -> str:
    """Return the project that a body or a query names; refuse two different ones."""
    named = dict.fromkeys(str(data[name]) for name in NAMES if data.get(name))
    if not named:
        raise errors.Invalid(errors={"collection": ["This field is required."]})
    if len(named) > 1:
        raise errors.Invalid(
            errors={"collection": ["Two projects are named; send one of the names."]}
        )
    return next(iter(named))
