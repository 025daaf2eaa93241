"""The admin pages of memories; importing this package registers them.

May import every other room of `memories` but `views` and `serializers`.
"""

from __future__ import annotations

from memories.admin import files, memory, possible_duplicates, purges, tables, tags

__all__ = ["files", "memory", "possible_duplicates", "purges", "tables", "tags"]
