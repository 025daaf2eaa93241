from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class CommonConfig(AppConfig):
    name = "common"

    def ready(self) -> None:
        from django_structlog.signals import bind_extra_request_metadata

        from common import logs

        bind_extra_request_metadata.connect(logs.bind_address)
        # The modules are imported in the order of INSTALLED_APPS. The erasure handlers have
        # the same order.
        autodiscover_modules("personal_data")
