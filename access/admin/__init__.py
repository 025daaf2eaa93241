"""Every page of the admin that access has; importing it registers them."""

from __future__ import annotations

from access.admin import accounts, jobs, keys

__all__ = ["accounts", "jobs", "keys"]
