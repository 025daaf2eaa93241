"""Every column that could hold a person's text is known to the purge."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models

from common.erasure import handlers, redaction

HARMLESS = (
    models.AutoField,
    models.BooleanField,
    models.DateField,
    models.DateTimeField,
    models.DecimalField,
    models.FloatField,
    models.ForeignKey,
    models.IntegerField,
    models.UUIDField,
)


def can_hold_text(field):
    """Any kind of field that is not known to hold numbers, moments or ids only."""
    inner = field.base_field if isinstance(field, ArrayField) else field
    if isinstance(field, models.GeneratedField):
        inner = field.output_field
    return not isinstance(inner, HARMLESS) and not field.choices


def columns_with_text():
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if can_hold_text(field):
                yield model, field.name


def purged():
    return {
        (holding.model, column)
        for holding in handlers.erasable_columns()
        for column in holding.columns
    }


def told():
    return {
        (model, column): why
        for part in handlers.all_handlers()
        for model, columns in part.no_text.items()
        for column, why in columns.items()
    }


class TestRegistry:
    def test_each_column_is_purged_or_said_to_hold_no_persons_text(self):
        known = purged() | told().keys()

        unknown = [
            f"{model._meta.db_table}.{name}"
            for model, name in columns_with_text()
            if (model, name) not in known
        ]

        assert not unknown

    def test_no_column_is_both(self):
        assert not purged() & told().keys()

    def test_each_named_column_exists(self):
        for model, name in [*purged(), *told()]:
            assert model._meta.get_field(name).concrete, (model, name)

    def test_each_reason_says_something(self):
        assert all(len(why) > 8 for why in told().values())


class TestMask:
    def test_the_same_text_has_the_same_mask(self):
        assert redaction.redact("Bob is ill") == redaction.redact("Bob is ill")

    def test_it_tells_nothing_without_the_key(self, settings):
        before = redaction.redact("Bob is ill")
        settings.SECRET_KEY = "another"

        assert redaction.redact("Bob is ill") != before

    @pytest.mark.parametrize("text", ["", redaction.redact("Bob is ill")])
    def test_nothing_and_a_mask_stay(self, text):
        assert redaction.redact(text) == text

    def test_a_text_that_only_looks_like_a_mask_goes(self):
        text = "[purged] 0123456789abcdef0123456789abcdef and Bob is ill"

        assert "Bob" not in redaction.redact(text)


class TestTree:
    way = staticmethod(redaction.json_redactor("status"))

    def test_texts_go_and_the_shape_stays(self):
        told = self.way({"status": "done", "said": ["Bob is ill", 3, None]})

        assert told["status"] == "done"
        assert redaction.is_redacted(told["said"][0])
        assert told["said"][1:] == [3, None]

    def test_ids_and_moments_stay(self):
        value = {
            "id": "0198c0de-0000-7000-8000-000000000001",
            "at": "2026-01-02T03:04:05.678+00:00",
        }

        assert self.way(value) == value

    def test_what_outsiders_shape_is_emptied_with_its_keys(self):
        value = {"metadata": {"Bob": "ill"}, "tool_usage": [{"Bob": 1}]}

        assert self.way(value) == {"metadata": {}, "tool_usage": []}


class TestLost:
    def test_it_names_what_a_value_had_and_has_no_more(self):
        old = {"a": "Bob", "b": ["is", "ill"], "metadata": {"since": "May"}}
        new = redaction.json_redactor("a")(old)

        assert set(redaction.removed_texts(old, new)) == {"is", "ill", "since", "May"}
