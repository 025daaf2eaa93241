"""Serializers of exports and imports."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from playbook.exchange import export_playbook, import_playbook

MAX_IMPORT = import_playbook.MAX_BYTES  # characters


class ExportQuery(InProject):
    format = serializers.ChoiceField(choices=export_playbook.FORMATS, default="ace")


class ImportIn(InProject):
    """A playbook as text. By default its producer is a model, as in `POST /proposals`."""

    content = serializers.CharField(max_length=MAX_IMPORT, trim_whitespace=False)
    format = serializers.ChoiceField(
        choices=import_playbook.FORMATS,
        default="ace",
        help_text="`ace`: lines with labels. `agents-md`: the managed block of a file. "
        "`markdown`: each item of a list is one rule.",
    )
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
    line = serializers.IntegerField()
    text = serializers.CharField()
    why = serializers.CharField()


class ImportOut(serializers.Serializer[Any]):
    """The result of an import; `waiting` are the deltas to decide."""

    deltas = CountOut(many=True)
    waiting = serializers.ListField(child=serializers.UUIDField())
    unparsed = UnparsedLineOut(many=True)
    notes = serializers.ListField(child=serializers.CharField())
