"""What common programs do with the files that they are given."""

from __future__ import annotations

from ace.rules import word_tables

_ROLES = word_tables.read_groups("programs")

READERS = _ROLES["reader"]
SEARCHERS = _ROLES["searcher"]
# The operands of these programs are patterns and folders, never a file that was read.
NAME_SEARCHERS = _ROLES["name_searcher"]
FIRST_IS_PATTERN = _ROLES["pattern_first"]
NEUTRAL = _ROLES["neutral"]
MODIFIERS = _ROLES["modifier"]
CREATORS = _ROLES["creator"]
DELETERS = _ROLES["deleter"]
MOVERS = _ROLES["mover"]
COPIERS = _ROLES["copier"]
WRAPPERS = _ROLES["wrapper"]
SHELLS = _ROLES["shell"]
IN_PLACE: dict[str, tuple[str, ...]] = {
    "sed": ("-i", "--in-place"),
    "perl": ("-i", "-pi"),
    "gofmt": ("-w",),
    "prettier": ("--write", "-w"),
    "eslint": ("--fix",),
    "ruff": ("--fix", "format"),
    "autopep8": ("-i", "--in-place"),
    "rustfmt": ("",),
}
GIT_READS = frozenset({"diff", "show", "blame", "log", "status", "grep", "ls-files"})
