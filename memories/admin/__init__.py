"""Every page of the admin that memories has; importing it registers them."""

from __future__ import annotations

from memories.admin import files, memory, possible_duplicates, purges, tables, tags

__all__ = ["files", "memory", "possible_duplicates", "purges", "tables", "tags"]
