"""Periodic tasks of sessions.

Importing this module registers the job handlers of sessions.
"""

from __future__ import annotations

from conversations import project_removal

__all__ = ["project_removal"]
