"""Admin pages of digest settings; importing the package registers them."""

from __future__ import annotations

from context.admin import digests

__all__ = ["digests"]
