"""Every column with text has a row in `stored_texts.txt` that says why it has no secret."""

from __future__ import annotations

from pathlib import Path

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models

TABLE = Path(__file__).with_name("stored_texts.txt")
WAYS = {"request", "draft", "delta", "own", "copy", "masked", "others"}
TEXTS = (models.CharField, models.TextField, models.JSONField, ArrayField)


def rows():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def columns():
    return {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, TEXTS) and not field.generated
    }


def test_the_table_has_every_column_with_text_and_no_other():
    assert columns() - set(rows()) == set()
    assert set(rows()) - columns() == set()


def test_every_column_says_how():
    unclear = {n: how for n, how in rows().items() if how.partition(":")[0] not in WAYS}

    assert unclear == {}
