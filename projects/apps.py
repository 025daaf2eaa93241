from __future__ import annotations

from django.apps import AppConfig
from django.urls import register_converter


class ProjectsConfig(AppConfig):
    name = "projects"

    def ready(self) -> None:
        from projects.project_lookup import IdOrNameConverter  # it imports models

        register_converter(IdOrNameConverter, "id_or_name")
