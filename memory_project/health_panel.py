"""The panel of the installation's health on the home page of its owners."""

from __future__ import annotations

from common.admin import panels
from common.admin.panels import Panel
from memory_project import health


def panel() -> Panel:
    return panels.table(
        "Health",
        ["Check", "", "What it found"],
        (
            [name.replace("_", " "), "well" if check.ok else "NOT WELL", check.detail]
            for name, check in health.report().checks.items()
        ),
    )
