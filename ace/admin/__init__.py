"""Admin pages of runs and reflections. Importing this package registers the pages.

This package may import everything in `ace`, and the base classes of the admin pages in
`common`, `memories` and `playbook`.
"""

from __future__ import annotations

from ace.admin import deltas, reflections, runs

__all__ = ["deltas", "reflections", "runs"]
