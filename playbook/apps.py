from __future__ import annotations

from django.apps import AppConfig


class PlaybookConfig(AppConfig):
    name = "playbook"

    def ready(self) -> None:
        # This import registers what happens to rules whose files are gone.
        import playbook.lessons.doubt  # noqa: F401
