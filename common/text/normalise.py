"""Unicode normalisation whose cost is linear in the length of the text.

`unicodedata.normalize` sorts each run of combining marks with an insertion sort. A run of
50,000 marks takes it seconds.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

# No script puts more marks on one letter.
MAX_MARKS = 30
LAST_MARK = 0x1FFFF  # the blocks above hold ideographs, tags and private characters

# Four characters of class 0 that become marks: three vowels of Tibetan, two marks of kana.
MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f" + "".join(
    filter(unicodedata.combining, map(chr, range(0x300, LAST_MARK + 1)))
)
_LONG_RUN = re.compile(f"([{MARKS}]{{{MAX_MARKS}}})[{MARKS}]+")


def cut_marks(text: str) -> str:
    """Cut each run of combining marks to `MAX_MARKS`."""
    return text if text.isascii() else _LONG_RUN.sub(r"\1", text)


def normalise(text: str, form: Literal["NFC", "NFKC", "NFKD"] = "NFKC") -> str:
    return unicodedata.normalize(form, cut_marks(text))
