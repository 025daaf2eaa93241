"""Several statements in one message to the database."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from common.db import execute_many
from inference.models import ActiveModel

pytestmark = pytest.mark.django_db

TABLE = ActiveModel._meta.db_table
FORGET = (f"DELETE FROM {TABLE}", [])
CHOOSE = (
    f"INSERT INTO {TABLE} (id, name, choice, since) VALUES (1, %s, '{{}}', now())",
    ["100% new"],
)


def test_each_statement_returns_its_rows_and_sees_earlier_ones():
    answers = execute_many(
        FORGET, CHOOSE, (f"SELECT name FROM {TABLE}", []), ("SELECT 1, %s", ["a"])
    )

    assert answers == [[], [], [("100% new",)], [(1, "a")]]


def test_no_statement_runs_after_one_that_fails():
    with pytest.raises(IntegrityError), transaction.atomic():
        execute_many(FORGET, CHOOSE, CHOOSE, FORGET)

    assert execute_many(FORGET, ("SELECT 1", [])) == [[], [(1,)]]
