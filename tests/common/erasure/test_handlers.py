"""Every column that could hold personal text is erased, or has a reason not to be."""

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
    """Any kind of field, except those for numbers, times and ids."""
    inner = field.base_field if isinstance(field, ArrayField) else field
    if isinstance(field, models.GeneratedField):
        inner = field.output_field
    return not isinstance(inner, HARMLESS) and not field.choices


def columns_with_text():
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if can_hold_text(field):
                yield model, field.name


def erased():
    return {
        (erasable.model, column)
        for erasable in handlers.erasable_columns()
        for column in erasable.columns
    }


def exempt():
    return {
        (model, column): why
        for handler in handlers.all_handlers()
        for model, columns in handler.no_text.items()
        for column, why in columns.items()
    }


class TestRegistry:
    def test_each_column_is_erased_or_has_a_reason(self):
        known = erased() | exempt().keys()

        unknown = [
            f"{model._meta.db_table}.{name}"
            for model, name in columns_with_text()
            if (model, name) not in known
        ]

        assert not unknown

    def test_no_column_is_both(self):
        assert not erased() & exempt().keys()

    def test_each_named_column_exists(self):
        for model, name in [*erased(), *exempt()]:
            assert model._meta.get_field(name).concrete, (model, name)

    def test_each_reason_says_something(self):
        assert all(len(why) > 8 for why in exempt().values())


class TestRedact:
    def test_the_same_text_has_the_same_replacement(self):
        assert redaction.redact("Bob is ill") == redaction.redact("Bob is ill")

    def test_it_needs_the_secret_key(self, settings):
        before = redaction.redact("Bob is ill")
        settings.SECRET_KEY = "another"

        assert redaction.redact("Bob is ill") != before

    @pytest.mark.parametrize("text", ["", redaction.redact("Bob is ill")])
    def test_an_empty_and_a_redacted_text_stay(self, text):
        assert redaction.redact(text) == text

    def test_a_text_that_only_begins_like_a_redacted_one_goes(self):
        text = "[purged] 0123456789abcdef0123456789abcdef and Bob is ill"

        assert "Bob" not in redaction.redact(text)


class TestJsonRedactor:
    redact = staticmethod(redaction.json_redactor("status"))

    def test_it_redacts_texts_and_keeps_the_shape(self):
        result = self.redact({"status": "done", "said": ["Bob is ill", 3, None]})

        assert result["status"] == "done"
        assert redaction.is_redacted(result["said"][0])
        assert result["said"][1:] == [3, None]

    def test_it_keeps_ids_and_times(self):
        value = {
            "id": "0198c0de-0000-7000-8000-000000000001",
            "at": "2026-01-02T03:04:05.678+00:00",
        }

        assert self.redact(value) == value

    def test_it_empties_free_form_objects_with_their_keys(self):
        value = {"metadata": {"Bob": "ill"}, "tool_usage": [{"Bob": 1}]}

        assert self.redact(value) == {"metadata": {}, "tool_usage": []}


class TestRemovedTexts:
    def test_it_returns_the_texts_that_are_gone(self):
        old = {"a": "Bob", "b": ["is", "ill"], "metadata": {"since": "May"}}
        new = redaction.json_redactor("a")(old)

        assert set(redaction.removed_texts(old, new)) == {"is", "ill", "since", "May"}
