"""Panels for whoever owns the installation, registered by the apps above."""

from __future__ import annotations

from collections.abc import Callable

from common.panels import Panel

FURTHER: list[Callable[[], Panel]] = []


def register(panel: Callable[[], Panel]) -> Callable[[], Panel]:
    """Show a panel on the first page to those who own every project."""
    if panel not in FURTHER:
        FURTHER.append(panel)
    return panel
