"""Admin pages of the playbook; importing this package registers them.

May import everything in `playbook` but `views`.
"""

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
