"""The admin pages of memories.

Importing this package registers the pages. The package may import every other package of
`memories` but `views` and `serializers`.
"""

from __future__ import annotations

from memories.admin import files, memory, possible_duplicates, purges, tables, tags

__all__ = ["files", "memory", "possible_duplicates", "purges", "tables", "tags"]
