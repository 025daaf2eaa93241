"""The admin pages of runs and tools.

Importing this package registers the pages. It may import everything of `agents` but its
views and serializers.
"""

from __future__ import annotations

from agents.admin import runs, tools

__all__ = ["runs", "tools"]
