"""Write audit events as CSV, one line at a time, because a long log does not fit in memory."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from audit.models import AuditEvent
from common.text.normalise import normalise
from common.text.visible import drop_invisible

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
# A spreadsheet runs a cell that begins with one of these characters as a formula.
# Full-width forms of them count too.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
MAX_SPACE = 200  # characters, of which the first that is no space counts


class Echo:
    """File for `csv.writer` that returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(events: Iterable[AuditEvent]) -> Iterator[str]:
    writer: Any = csv.writer(Echo())
    # The byte order mark makes a spreadsheet read the rest as UTF-8.
    yield "\ufeff" + writer.writerow(COLUMNS)
    for event in events:
        yield writer.writerow([escape_cell(getattr(event, name)) for name in COLUMNS])


def escape_cell(value: Any) -> str:
    """Convert a value to visible text that no spreadsheet runs."""
    if value is None:
        return ""
    text = json.dumps(value) if isinstance(value, dict) else _to_text(value)
    text = drop_invisible(text)
    start = normalise(text[:MAX_SPACE]).lstrip(" ")
    return f"'{text}" if start.startswith(FORMULAS) else text


def _to_text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
