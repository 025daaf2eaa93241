from __future__ import annotations

from django.apps import AppConfig


class AceConfig(AppConfig):
    name = "ace"

    def ready(self) -> None:
        import ace.personal_data  # noqa: F401  (registers what a purge takes)
