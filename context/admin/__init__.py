"""Every page of the admin that context has; importing it registers them."""

from __future__ import annotations

from context.admin import digests

__all__ = ["digests"]
