"""Refuse to start a web server, a worker or beat that could not work."""

from __future__ import annotations

import sys

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from common import schema_version

CONNECT_SECONDS = 5

log = structlog.get_logger(__name__)


def refuse_unservable() -> None:
    """End the process, with the reason, unless its secret key and its schema are usable."""
    if not has_secret_key():
        sys.exit(
            "SECRET_KEY is empty. Set SECRET_KEY or SECRET_KEY_FILE to a long random text, "
            "or start with bin/up, which makes one in the data folder."
        )
    link = own_connection()
    try:
        schema_version.refuse_newer(link)
    except schema_version.NewerSchema as error:
        sys.exit(str(error))
    except Error as error:
        # A server may start before its database; then /readyz compares the schema.
        log.warning("schema_not_compared", error=str(error))
    finally:
        link.close()


def has_secret_key() -> bool:
    try:
        return bool(settings.SECRET_KEY)
    except ImproperlyConfigured:  # Django's own refusal of an empty key
        return False


def own_connection() -> BaseDatabaseWrapper:
    """Return a connection that a fork does not share and that does not wait for long."""
    link: BaseDatabaseWrapper = connection.copy()
    link.settings_dict["OPTIONS"]["connect_timeout"] = CONNECT_SECONDS
    link.settings_dict["OPTIONS"].pop("pool", None)
    return link
