"""Serializers of exports and imports."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from playbook.exchange import export_playbook
from playbook.serializers.entries import WithRelease

# Lines have their own limit. A history may be as large as the request body.
MAX_IMPORT = 12 * 1024 * 1024  # characters


class ExportQuery(InProject):
    format = serializers.ChoiceField(choices=export_playbook.FORMATS, default="ace")


class ImportIn(InProject, WithRelease):
    """A playbook as text. By default its producer is a model, as in `POST /playbook/deltas`."""

    content = serializers.CharField(
        max_length=MAX_IMPORT,
        trim_whitespace=False,
        help_text='The text; of `skills` the JSON `{"files": {"NAME/SKILL.md": "text"}}`.',
    )
    format = serializers.ChoiceField(choices=export_playbook.FORMATS, default="ace")
    category = serializers.CharField(
        max_length=40,
        required=False,
        help_text="The category of lines whose section matches none; see the project's categories.",
    )
    producer = serializers.ChoiceField(choices=["model", "human"], default="model")
    producer_name = serializers.CharField(
        max_length=100, required=False, allow_blank=True, default=""
    )


class CountOut(serializers.Serializer[Any]):
    operation = serializers.CharField()
    status = serializers.CharField()
    count = serializers.IntegerField()
    known = serializers.IntegerField(
        help_text="Those of them that existed before this request."
    )


class UnparsedLineOut(serializers.Serializer[Any]):
    file = serializers.CharField(
        help_text="The path of its file, if the playbook is a folder; else empty."
    )
    line = serializers.IntegerField()
    text = serializers.CharField()
    why = serializers.CharField()


class ImportOut(serializers.Serializer[Any]):
    """The result of an import.

    `waiting` are the deltas to decide. `restored` is the number of entries that were
    restored with their history.
    """

    deltas = CountOut(many=True)
    waiting = serializers.ListField(child=serializers.UUIDField())
    unparsed = UnparsedLineOut(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    restored = serializers.IntegerField(allow_null=True)
