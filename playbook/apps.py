from __future__ import annotations

from django.apps import AppConfig


class PlaybookConfig(AppConfig):
    name = "playbook"

    def ready(self) -> None:
        import playbook.personal_data  # noqa: F401  (registers what a purge takes)
