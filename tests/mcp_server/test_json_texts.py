"""Lists and objects that arrive as JSON in a text are read as what they are."""

from __future__ import annotations

import pytest
from rest_framework import serializers

from mcp_server.server.json_texts import read_arguments


class Step(serializers.Serializer):
    name = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())


class Arguments(serializers.Serializer):
    tags = serializers.ListField(child=serializers.CharField())
    file_paths = serializers.ListField(child=serializers.CharField())
    kinds = serializers.ListField(child=serializers.ChoiceField(["a", "b"]))
    notes = serializers.ListField(child=serializers.CharField())
    steps = Step(many=True)
    step = Step()
    counts = serializers.DictField()
    value = serializers.JSONField()
    words = serializers.CharField()
    limit = serializers.IntegerField()


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        ("tags", '["a", "b"]', ["a", "b"]),
        ("tags", "a", ["a"]),
        ("tags", "a, b,c", ["a", "b", "c"]),
        ("tags", "[a", ["[a"]),
        ("file_paths", "src/a b.py, c.py", ["src/a b.py", "c.py"]),
        ("kinds", "a, b", ["a", "b"]),
        ("notes", "Stop it, then migrate", ["Stop it, then migrate"]),
        ("notes", "Stop it, please\nMigrate", ["Stop it, please", "Migrate"]),
        ("tags", ["a, b"], ["a, b"]),
        ("tags", "", []),
        ("tags", None, None),
        ("steps", '[{"name": "x", "notes": "[1]"}]', [{"name": "x", "notes": [1]}]),
        ("steps", '{"name": "x"}', [{"name": "x"}]),
        ("steps", ['{"name": "x"}'], [{"name": "x"}]),
        ("step", '{"notes": "a"}', {"notes": ["a"]}),
        ("counts", '{"a": 1}', {"a": 1}),
        ("counts", "many", "many"),
        ("value", '{"host": "b"}', {"host": "b"}),
        ("value", "{x}", "{x}"),
        ("value", "5", "5"),
        ("words", '["a"]', '["a"]'),
        ("limit", "5", "5"),
        ("other", '["a"]', '["a"]'),
    ],
)
def test_it_reads_what_the_field_has(name, sent, read):
    assert read_arguments(Arguments, {name: sent}) == {name: read}
