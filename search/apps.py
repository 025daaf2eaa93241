from __future__ import annotations

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "search"

    def ready(self) -> None:
        import search.personal_data  # noqa: F401  (registers what a purge takes)
