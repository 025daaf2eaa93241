"""Admin pages of access; importing this package registers them."""

from __future__ import annotations

from access.admin import accounts, jobs, keys

__all__ = ["accounts", "jobs", "keys"]
