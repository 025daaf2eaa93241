"""Every page of the admin that memories has; importing it registers them."""

from __future__ import annotations

from memories.admin import doubts, files, memory, purges, tables, tags

__all__ = ["doubts", "files", "memory", "purges", "tables", "tags"]
