from __future__ import annotations

from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "inference"

    def ready(self) -> None:
        import inference.checks
        import inference.personal_data  # noqa: F401  (registers what a purge takes)
