"""Read the edits of a task, and tell in which way an edit cured an issue of a linter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ace.repairs import failed_call
from ace.task.task import ToolCall

MAX_TEXT = 20_000  # characters of one text of an edit that are read
MAX_EDITS = 50  # edits of one call
_OLD = ("old_string", "old_str", "old_text")
_NEW = ("new_string", "new_str", "new_text", "content", "file_text")

_SUPPRESSION = re.compile(
    r"nolint|noqa|pylint: ?disable|type: ?ignore|nosec|NOSONAR|@SuppressWarnings"
    r"|eslint-disable|biome-ignore|@ts-(?:ignore|expect-error)|#!?\[allow\(|rubocop: ?disable"
    r"|shellcheck disable"
)
# An error that gets a context, in Go, Python, Rust and JavaScript.
_WRAP = re.compile(
    r"%w|errors\.Wrap|\braise\b[^\n]{0,200}\bfrom\b|\.(?:with_)?context\(|map_err|cause:"
)
_HANDLE = re.compile(
    r"\bif\b[^\n]{0,200}\b(?:err|error|e)\b|\bcatch\b|\bexcept\b|\brescue\b|\bcase\b"
    r"|\bassert\w{0,20}\b|\brequire\.|unwrap_or|\?;|\bt\.(?:Fatal|Error)|\bif let\b|\b_ = "
)
_CONSTANT = re.compile(
    r"\bconst\b|^\s{0,40}[A-Z][A-Z0-9_]{2,60}\s{0,4}[:=]|\bfinal static\b", re.MULTILINE
)
_LITERAL = re.compile(r"\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|`[^`]{0,300}`|\b\d+\b")


@dataclass(frozen=True)
class Edit:
    """A text that a call replaced and the new text; a new file replaces nothing."""

    path: str
    old: str
    new: str

    @property
    def kind(self) -> str:
        """Return suppression, wrap, handle, constant or rewrite.

        It is the first of these that the new text has more often than the old text.
        """
        if self._adds(_SUPPRESSION):
            return "suppression"
        if self._adds(_WRAP):
            return "wrap"
        if self._adds(_HANDLE):
            return "handle"
        if self._adds(_CONSTANT) or self._loses_literal():
            return "constant"
        return "rewrite"

    def is_in(self, file: str) -> bool:
        """Return whether the edit is in the file that a report names."""
        name = file.removeprefix("./").lstrip("/")
        return self.path == file or self.path.endswith(f"/{name}") or self.path == name

    def _adds(self, pattern: re.Pattern[str]) -> bool:
        return len(pattern.findall(self.new)) > len(pattern.findall(self.old))

    def _loses_literal(self) -> bool:
        """Return whether a name replaced a literal in as many lines."""
        before, after = len(_LITERAL.findall(self.old)), len(_LITERAL.findall(self.new))
        return self.old.count("\n") == self.new.count("\n") and after < before


def read(call: ToolCall) -> Iterator[Edit]:
    """Yield the edits of a call, in order; none if the call edits nothing."""
    path = failed_call.path_of(call)
    if not path or call.has_failed:
        return
    parts = call.arguments.get("edits")
    for part in (parts if isinstance(parts, list) else [call.arguments])[:MAX_EDITS]:
        if isinstance(part, dict) and (new := _text(part, _NEW)) is not None:
            yield Edit(path, _text(part, _OLD) or "", new)


def _text(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    found = (arguments[name] for name in names if name in arguments)
    value = next(found, None)
    return value[:MAX_TEXT] if isinstance(value, str) else None
