from __future__ import annotations

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        # This import registers the tables of vectors, and the jobs that fill them.
        import conversations.search_index.vectors  # noqa: F401
