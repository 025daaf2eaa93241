from __future__ import annotations

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "context"

    def ready(self) -> None:
        import context.personal_data  # noqa: F401  (registers what a purge takes)
