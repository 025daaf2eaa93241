"""Statements that go to the database together: each way there and back wakes two processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

# SQL with its parameters.
Statement = tuple[str, Sequence[Any]]


def ask(
    *statements: Statement, using: str = DEFAULT_DB_ALIAS
) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement, all of which go in one message.

    They run one after the other: each sees what was committed before it began. When one
    fails, those behind it do not run.
    """
    command = "; ".join(sql for sql, _ in statements)
    params = [value for _, values in statements for value in values]
    answers: list[list[tuple[Any, ...]]] = []
    with connections[using].cursor() as cursor:
        cursor.execute(command, params)
        while len(answers) < len(statements):
            answers.append(cursor.fetchall() if cursor.description else [])
            cursor.nextset()
    return answers
