"""The lists of entries, changes and proposals in the admin.

Importing this package registers them. May import everything in `playbook` but `views`.
"""

from __future__ import annotations

from playbook.admin import changes, deltas, entries

__all__ = ["changes", "deltas", "entries"]
