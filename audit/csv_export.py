"""Audit events as a CSV file, a line at a time: a log of years is not held in memory."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from audit.models import AuditEvent

COLUMNS = [
    "at",
    "verb",
    "actor",
    "key_id",
    "account_id",
    "agent_id",
    "project_id",
    "object_type",
    "object_id",
    "detail",
    "before_hash",
    "after_hash",
    "request_id",
    "address",
]
# Spreadsheets take a cell that begins so for a formula.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class Echo:
    """What `csv.writer` writes to; it gives the line back."""

    def write(self, line: str) -> str:
        return line


def csv_lines(events: Iterable[AuditEvent]) -> Iterator[str]:
    writer: Any = csv.writer(Echo())
    # What tells a spreadsheet that the rest is UTF-8.
    yield "\ufeff" + writer.writerow(COLUMNS)
    for event in events:
        yield writer.writerow([escape_cell(getattr(event, name)) for name in COLUMNS])


def escape_cell(value: Any) -> str:
    """The value as text that no spreadsheet runs."""
    if value is None:
        return ""
    text = json.dumps(value) if isinstance(value, dict) else _to_text(value)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULAS) else text


def _to_text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
