from __future__ import annotations

from django.apps import AppConfig


class AceConfig(AppConfig):
    name = "ace"
