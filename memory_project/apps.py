from __future__ import annotations

from django.apps import AppConfig


class MemoryProjectConfig(AppConfig):
    name = "memory_project"

    def ready(self) -> None:
        from console.home import owner_panels
        from memory_project import (  # noqa: F401  # celery and checks register
            celery,
            checks,
            health_panel,
        )

        owner_panels.register(health_panel.panel)
