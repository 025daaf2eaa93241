"""Compute the stems of English words, to compare two texts."""

from __future__ import annotations

import re

_SUFFIX = re.compile(r"(?<=\w\w)(?:ingly|ings?|edly|(?<!e)ed|ies|es|s|ly|e)$")


_DOUBLED = re.compile(r"(?<=\w\w)([bdgkmnprt])\1$")


def stem(word: str) -> str:
    """Remove the endings of a word.

    Only as much is removed as the forms of one word need to get the same stem.
    """
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-2]
    # without this rule, the stem of "one" would be "on"
    if word.endswith("ss") or word == "one":
        return word
    root = _DOUBLED.sub(r"\1", _SUFFIX.sub("", word))
    return root[:-1] + "i" if len(root) > 3 and root.endswith("y") else root
