"""Decode the texts that a text has in base64, such as a file of credentials."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Iterator

_SIGN = "[A-Za-z0-9+/_-]"
# Lines of `base64`, or one run. A shorter one holds no file.
_RUN = re.compile(
    rf"(?<!{_SIGN})(?:{_SIGN}{{60,76}}\r?\n){{0,600}}{_SIGN}{{1,40000}}={{0,2}}(?!{_SIGN})"
)
MIN_SIGNS = 60


def find_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the place of each encoded text, and the text."""
    for match in _RUN.finditer(text):
        if match.end() - match.start() >= MIN_SIGNS and (decoded := _decode(match[0])):
            yield *match.span(), decoded


def _decode(run: str) -> str:
    """Return the text, or nothing if the bytes are none that a person can read."""
    signs = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = a2b_base64(signs + "=" * (-len(signs) % 4)).decode()
    except (Error, UnicodeDecodeError):
        return ""
    return text if "".join(text.split()).isprintable() else ""
