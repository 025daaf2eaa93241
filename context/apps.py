from __future__ import annotations

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "context"

    def ready(self) -> None:
        # This import registers which lessons a summary of memories leaves out.
        import context.followed_lessons  # noqa: F401
