from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        # This import registers the job that embeds, and the table of vectors.
        import memories.maintenance.embedding_job  # noqa: F401
