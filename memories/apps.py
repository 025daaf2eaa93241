from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        # These imports register the jobs that embed, and the table of vectors.
        import memories.maintenance.embedding_job
        import memories.maintenance.text_upgrade  # noqa: F401
