from __future__ import annotations

from django.apps import AppConfig


class CommonConfig(AppConfig):
    name = "common"

    def ready(self) -> None:
        from django_structlog.signals import bind_extra_request_metadata

        from common import logs

        bind_extra_request_metadata.connect(logs.bind_address)
