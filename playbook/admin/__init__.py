"""Every page of the admin that playbook has; importing it registers them."""

from __future__ import annotations

from playbook.admin import (
    conflicts,
    deltas,
    entries,
    history,
    playbook_page,
    related_tables,
)

__all__ = [
    "conflicts",
    "deltas",
    "entries",
    "history",
    "playbook_page",
    "related_tables",
]
