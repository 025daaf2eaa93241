from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"

    def ready(self) -> None:
        import audit.personal_data  # noqa: F401  (registers what a purge takes)
