"""Mask the secrets of a call in what its server sends back, however the server writes them."""

from __future__ import annotations

import base64
import binascii
import html
import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

MIN_SPELLING = 6  # characters; a shorter text occurs by chance


def mask_values(text: str, values: Mapping[str, str]) -> str:
    """Replace each secret in a text by `[secret:NAME]`, plain or in its usual encodings."""
    spellings = {
        spelling: name
        for name, value in values.items()
        for spelling in _spell(value)
        if len(spelling) >= MIN_SPELLING
    }
    # The longest first: an encoded value may contain a plain one.
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, f"[secret:{spellings[spelling]}]")
    return text


def _spell(value: str) -> Iterator[str]:
    for plain in (value, *_decode_credentials(value)):
        yield from _escape(plain)
        yield from _encode(plain.encode())


def _decode_credentials(value: str) -> Iterator[str]:
    """Yield `user:password` and the password, if the value is their base64."""
    try:
        pair = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    if ":" in pair and pair.isprintable():
        yield pair
        yield pair.partition(":")[2]


def _escape(value: str) -> Iterator[str]:
    quoted = json.dumps(value)[1:-1]
    yield from (value, value[::-1], quoted, json.dumps(quoted)[1:-1])
    yield from (quote(value, safe=""), quote(value), quote_plus(value))
    yield from (html.escape(value), html.escape(value, quote=False))


def _encode(raw: bytes) -> Iterator[str]:
    """Yield the value in hexadecimal, and in base64 of a longer text that contains it.

    Three bytes are four characters, so the place of the value in the text decides which of
    three spellings it has. Characters that also depend on the bytes around it are left out.
    """
    yield raw.hex()
    yield raw.hex().upper()
    for offset in range(3):
        first = -(-offset * 8 // 6)
        last = (offset + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(offset) + raw).decode()[first:last]
