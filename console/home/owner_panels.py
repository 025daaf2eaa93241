"""Panels for the owners of the installation.

Apps above the console register these panels.
"""

from __future__ import annotations

from collections.abc import Callable

from common.admin.panels import Panel

OWNER_PANELS: list[Callable[[], Panel]] = []


def register(panel: Callable[[], Panel]) -> Callable[[], Panel]:
    """Show a panel on the home page to the people who own every project."""
    if panel not in OWNER_PANELS:
        OWNER_PANELS.append(panel)
    return panel
