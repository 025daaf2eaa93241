"""The panel of the installation's health on the home page of its owners."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.panels import Panel
from console import list_urls
from memory_project import health


def panel() -> Panel:
    return Panel(
        "Health",
        ["Check", "", "What it found"],
        [
            [_unbroken(name), "well" if check.ok else "NOT WELL", check.detail]
            for name, check in health.report().checks.items()
        ],
        note=list_urls.link(reverse("console:schedules"), "When each task ran last"),
    )


def _unbroken(name: str) -> SafeString:
    return format_html('<span class="am-name">{}</span>', name.replace("_", " "))
