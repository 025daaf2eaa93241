from __future__ import annotations

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        import jobs.personal_data  # noqa: F401  (registers what a purge takes)
