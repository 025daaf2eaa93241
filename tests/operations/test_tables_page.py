from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def listed_tables():
    page = (Path(settings.BASE_DIR) / "docs" / "tables.md").read_text()
    return ROW.findall(page)


def test_each_table_is_on_the_page(listed_tables):
    tables = {
        model._meta.db_table for model in apps.get_models(include_auto_created=True)
    }

    assert tables - set(listed_tables) == set()


def test_nothing_else_is_on_the_page(listed_tables):
    tables = {
        model._meta.db_table for model in apps.get_models(include_auto_created=True)
    }

    assert set(listed_tables) - tables <= {"django_migrations"}


def test_no_table_is_on_the_page_twice(listed_tables):
    assert len(listed_tables) == len(set(listed_tables))
