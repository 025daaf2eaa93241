from __future__ import annotations

from django.apps import AppConfig


class PlaybookConfig(AppConfig):
    name = "playbook"

    def ready(self) -> None:
        # They register a job and what goes with a deleted project.
        from playbook import removal, vectors  # noqa: F401
