"""Split a text into sentences, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A full stop inside `e.g.`, `1.5` or `app.py` does not end a sentence, nor does one between a
# digit and a small letter, as in "like 31.12. in reports".
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)"
    r"(?:\.(?!(?<=\d\.)[ \t]{1,3}[a-z])|[?\u061f]|(?<=[^\W\d])!)(?=[\s\"')\]]|$)"
    r"|[\u3002\uff01\uff1f\u0964]|\n"
)
_BULLET = re.compile(
    r"[ \t]{0,20}(?:[-*\u2022>]{1,3}[ \t]{1,8}|\(?\d{1,3}[.)][ \t]{1,8})?[ \t]{0,20}"
)


def split(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence, without the bullet and white space around it."""
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        bullet = _BULLET.match(text, start, end)
        first = bullet.end() if bullet else start
        piece = text[first:end]
        last = first + len(piece.rstrip())
        first += len(piece) - len(piece.lstrip())
        if first < last:
            yield first, last
        start = end
