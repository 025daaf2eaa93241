"""Split feedback into sentences, and correct misspelled words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.rules import word_tables

MAX_SENTENCE = 600

# A full stop inside `e.g.`, `1.5` or `app.py` does not end a sentence, nor does one between a
# digit and a small letter, as in "like 31.12. in reports".
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)"
    r"(?:\.(?!(?<=\d\.)[ \t]{1,3}[a-z])|\?|(?<=[a-z])!)(?=[\s\"')\]]|$)|\n"
)
_BULLET = re.compile(
    r"[ \t]{0,20}(?:[-*\u2022>]{1,3}[ \t]{1,8}|\(?\d{1,3}[.)][ \t]{1,8})?[ \t]{0,20}"
)
_MISSPELLINGS = word_tables.read_values("misspellings")
_MISSPELLING = re.compile(
    rf"(?<![\w`\"'./-])(?:{'|'.join(_MISSPELLINGS)})(?![\w`\"'./-])", re.I
)
_SMILEY = re.compile(
    r"(?:[ ]{0,2}(?:[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f]|:[a-z_]{2,30}:|[:;]-?[)(DP]))"
    r"{1,9}$"
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
        if 0 < last - first <= MAX_SENTENCE:
            yield first, last
        start = end


def clean(sentence: str) -> str:
    """Correct common misspellings, and drop a smiley at the end."""
    text = _MISSPELLING.sub(lambda match: _MISSPELLINGS[match[0].lower()], sentence)
    return _SMILEY.sub("", text)
