"""Stems of English words, for comparing two texts."""

from __future__ import annotations

import re

_SUFFIX = re.compile(r"(?<=\w\w)(?:ingly|ings?|edly|(?<!e)ed|ies|es|s|ly|e)$")


_DOUBLED = re.compile(r"(?<=\w\w)([bdgkmnprt])\1$")


def stem(word: str) -> str:
    """Cut endings off, only so far that forms of one word meet."""
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-2]
    if word.endswith("ss") or word == "one":  # else it would be "on"
        return word
    root = _DOUBLED.sub(r"\1", _SUFFIX.sub("", word))
    return root[:-1] + "i" if len(root) > 3 and root.endswith("y") else root
