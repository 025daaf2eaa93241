from __future__ import annotations

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "context"
