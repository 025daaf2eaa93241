from __future__ import annotations

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "access"

    def ready(self) -> None:
        import access.personal_data  # noqa: F401  (registers what a purge takes)
