from __future__ import annotations

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"

    def ready(self) -> None:
        import projects.personal_data  # noqa: F401  (registers what a purge takes)
