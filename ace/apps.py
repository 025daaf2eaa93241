from __future__ import annotations

from django.apps import AppConfig


class AceConfig(AppConfig):
    name = "ace"

    def ready(self) -> None:
        # Registers the handler of its kind of job.
        from ace import run  # noqa: F401
