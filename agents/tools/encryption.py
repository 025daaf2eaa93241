"""Encrypt the secrets of tools at rest with a key that follows from SECRET_KEY.

After SECRET_KEY changed, a key of SECRET_KEY_FALLBACKS still decrypts.
"""

from __future__ import annotations

import base64
import functools
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

# It keeps this key apart from other uses of SECRET_KEY.
PURPOSE = b"agents.tools.secrets"


class Undecryptable(ValueError):
    """No key of SECRET_KEY and SECRET_KEY_FALLBACKS encrypted the value."""


def encrypt(value: str) -> str:
    """Encrypt a value with the current key."""
    return _fernet(settings.SECRET_KEY).encrypt(value.encode()).decode("ascii")


def decrypt(encrypted: str) -> tuple[str, bool]:
    """Return the value, and whether the current key encrypted it; raise Undecryptable."""
    from cryptography.fernet import InvalidToken

    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    for position, key in enumerate(keys):
        try:
            value = _fernet(key).decrypt(encrypted.encode()).decode()
        except InvalidToken:
            continue
        return value, position == 0
    raise Undecryptable


@functools.lru_cache(maxsize=8)
def _fernet(secret_key: str) -> Fernet:
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE)
    return Fernet(base64.urlsafe_b64encode(derived.derive(secret_key.encode())))
