from __future__ import annotations

from django.apps import AppConfig


class MemoryProjectConfig(AppConfig):
    name = "memory_project"

    def ready(self) -> None:
        from memory_project import celery, checks  # noqa: F401  # registers both
