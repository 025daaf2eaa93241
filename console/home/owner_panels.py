"""Panels for whoever owns the installation, registered by the apps above."""

from __future__ import annotations

from collections.abc import Callable

from common.admin.panels import Panel

OWNER_PANELS: list[Callable[[], Panel]] = []


def register(panel: Callable[[], Panel]) -> Callable[[], Panel]:
    """Show a panel on the first page to those who own every project."""
    if panel not in OWNER_PANELS:
        OWNER_PANELS.append(panel)
    return panel
