"""Mask what varies between two runs in an error, in code and in the words of a command."""

from __future__ import annotations

import re
from collections.abc import Collection

from ace import errors

_QUOTED = re.compile(
    r"'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|`[^`\n]{0,300}`|\u2018[^\u2019\n]{0,300}\u2019"
)
_PATH = re.compile(
    r"(?<![\w.:/\\-])(?:~|\.{1,2}|[A-Za-z]:)?(?:[\w.@+-]{0,100}[/\\]){1,30}[\w.@+-]{0,100}"
)
_BRACKETS = re.compile(r"\([^()\n]{0,200}\)")
_CODE_WORD = re.compile(
    r"\b(?:\w{1,60}(?:\.\w{1,60}){1,6}|[^\W_]{1,40}(?:_[^\W_]{1,40}){1,8}"
    r"|[a-z]{1,40}[A-Z]\w{0,60}|[A-Z]\w{0,40}[a-z]\w{0,40}[A-Z]\w{0,40})\b"
)
_WORD = re.compile(r"[\w./-]{1,200}")


def mask_error(text: str, keep: Collection[str] = ()) -> str:
    """Mask quotes, paths, ids and numbers of one line; names of flags stay.

    So do the words to keep: a quote or a path that is one of them, or that ends in one.
    """

    def mask(found: re.Match[str], mask: str) -> str:
        name = found[0].strip("'\"`\u2018\u2019").rstrip("/")
        name = (
            name.partition("=")[0] if name.startswith("-") else name.rpartition("/")[2]
        )
        return name if name in keep else mask

    plain = _QUOTED.sub(lambda found: mask(found, "<q>"), text)
    plain = _PATH.sub(lambda found: mask(found, "<path>"), plain)
    return errors.mask_numbers(plain)


def mask_code(text: str) -> str:
    """Mask also names of code and what stands in brackets."""
    plain = _PATH.sub("<path>", _QUOTED.sub("<q>", text))
    plain = _CODE_WORD.sub("<name>", _BRACKETS.sub("(<…>)", plain))
    return errors.mask_numbers(plain)


def common_share(one: str, other: str) -> float:
    """Return the share of the distinct words of two texts that are in both, 0 to 1."""
    left, right = set(_WORD.findall(one)), set(_WORD.findall(other))
    return len(left & right) / len(left | right) if left or right else 0.0
