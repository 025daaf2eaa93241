"""Admin pages of digest settings. Importing this package registers the pages."""

from __future__ import annotations

from context.admin import digests

__all__ = ["digests"]
