from __future__ import annotations

from django.apps import AppConfig


class AceConfig(AppConfig):
    name = "ace"

    def ready(self) -> None:
        # This import registers how the playbook finds the evidence of an observation.
        import ace.reflect.observed_evidence  # noqa: F401
