"""System checks that report wrong combinations of settings, each with a hint."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from memory_project import startup


@register()
def secret_key(**kwargs: Any) -> list[CheckMessage]:
    if startup.has_secret_key():
        return []
    return [
        Error(
            "SECRET_KEY is empty.",
            hint="Set SECRET_KEY or SECRET_KEY_FILE, or start with bin/up, "
            "which makes one in the data folder.",
            id="memory_project.E001",
        )
    ]


@register(deploy=True)
def plain_http(**kwargs: Any) -> list[CheckMessage]:
    if settings.HTTPS or settings.DEBUG:
        return []
    return [
        Warning(
            "HTTPS is off: cookies and keys travel in clear text.",
            hint="Put a proxy with TLS in front and set HTTPS=1.",
            id="memory_project.W001",
        )
    ]


@register(deploy=True)
def ignored_fields(**kwargs: Any) -> list[CheckMessage]:
    if settings.UNKNOWN_FIELDS == "refuse":
        return []
    return [
        Warning(
            "UNKNOWN_FIELDS=note: fields that no route knows are ignored with a note.",
            hint="Correct the clients that the log names (event unknown_fields), then "
            "remove the setting: the next release always refuses such fields.",
            id="memory_project.W002",
        )
    ]
