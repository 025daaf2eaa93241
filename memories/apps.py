from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        # Each registers the handler of its kind of work.
        from memories import deduplication, deletion, vectors  # noqa: F401
