from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        import memories.personal_data  # noqa: F401  (registers what a purge takes)
