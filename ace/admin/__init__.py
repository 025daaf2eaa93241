"""Admin pages of runs and reflections; importing the package registers them.

May import everything in `ace`, and the admin bases of `common`, `memories` and `playbook`.
"""

from __future__ import annotations

from ace.admin import deltas, reflections, runs

__all__ = ["deltas", "reflections", "runs"]
