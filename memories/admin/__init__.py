"""The lists of memories, files, tags and purges in the admin.

Importing this package registers them. The package may import every other package of
`memories` but `views` and `serializers`.
"""

from __future__ import annotations

from memories.admin import files, memory, purges, tags

__all__ = ["files", "memory", "purges", "tags"]
