"""Tell in which way an edit cured an issue of a linter."""

from __future__ import annotations

import re

from bench.judge.session_calls import EditHunk

_SUPPRESSION = re.compile(
    r"nolint|noqa|pylint: ?disable|type: ?ignore|nosec|NOSONAR|@SuppressWarnings"
    r"|eslint-disable|biome-ignore|@ts-(?:ignore|expect-error)|#!?\[allow\(|rubocop: ?disable"
    r"|shellcheck disable"
)
# An error that is given a context: Go, Python, Rust, JavaScript.
_WRAP = re.compile(
    r"%w|errors\.Wrap|\braise\b.*\bfrom\b|\.(?:with_)?context\(|map_err|cause:"
)
_HANDLE = re.compile(
    r"\bif\b.*\b(?:err|error|e)\b|\bcatch\b|\bexcept\b|\brescue\b|\bcase\b|\bassert\w*\b"
    r"|\brequire\.|unwrap_or|\?;|\bt\.(?:Fatal|Error)|\bif let\b|\b_ = "
)
_CONSTANT = re.compile(
    r"\bconst\b|^[ \t]*[A-Z][A-Z0-9_]{2,}\s*[:=]|\bfinal static\b", re.M
)
_LITERAL = re.compile(r"""(['"`])(?:\\.|(?!\1)[^\\\n])*\1|\b\d+\b""")


def describe_edit(hunk: EditHunk) -> str:
    """Return suppression, wrap, handle, constant or rewrite.

    It is the first of these that the edit has more often than the text that it replaced.
    """
    if _adds(_SUPPRESSION, hunk):
        return "suppression"
    if _adds(_WRAP, hunk):
        return "wrap"
    if _adds(_HANDLE, hunk):
        return "handle"
    if _adds(_CONSTANT, hunk) or _loses_literal(hunk):
        return "constant"
    return "rewrite"


def _adds(pattern: re.Pattern[str], hunk: EditHunk) -> bool:
    return len(pattern.findall(hunk.new)) > len(pattern.findall(hunk.old))


def _loses_literal(hunk: EditHunk) -> bool:
    """Whether a name replaced a literal, and the lines are otherwise as many."""
    before, after = len(_LITERAL.findall(hunk.old)), len(_LITERAL.findall(hunk.new))
    same_lines = hunk.old.count("\n") == hunk.new.count("\n")
    return same_lines and after < before
