"""Join a file and its test: `explain.go` and `explain_test.go` are one place to work."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

_AFFIX = re.compile(
    r"^(?:test|spec)[_-]|[_.-](?:test|tests|spec|specs|unit|e2e|it)$|(?<=[a-z0-9])(?:Tests?|Spec|IT)$"
)
# Folders that hold tests, or that a language puts between the root and its packages.
_FOLDERS = frozenset(
    {
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "unit",
        "integration",
        "e2e",
        "testing",
    }
    | {"src", "main", "lib", "app", "java", "kotlin", "python"}
)


def group(paths: Iterable[str]) -> dict[str, str]:
    """Return {path: the path that stands for it}; a test stands with its file.

    A test belongs to the file of its name, in the folder that has most parts in common. A
    test of no file, or of several that are equally near, stands for itself.
    """
    distinct = set(paths)
    subjects: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path in distinct:
        if not is_test(path):
            subjects[_name(path)].append(path)
    return {path: _subject(path, subjects) for path in distinct}


def is_test(path: str) -> bool:
    return bool(_AFFIX.search(_split(path)[1]))


def _subject(path: str, subjects: dict[tuple[str, str], list[str]]) -> str:
    if not is_test(path):
        return path
    folder = _folders(path)
    near = sorted(
        subjects.get(_name(path), ()),
        key=lambda other: (-len(folder & _folders(other)), other),
    )
    if not near:
        return path
    shared = [len(folder & _folders(other)) for other in near]
    return near[0] if len(near) == 1 or shared[0] > shared[1] else path


def _name(path: str) -> tuple[str, str]:
    """Return the name without the mark of a test, and the extension."""
    _, stem, extension = _split(path)
    return _AFFIX.sub("", stem).casefold(), extension


def _split(path: str) -> tuple[str, str, str]:
    folder, _, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    return (folder, stem, extension) if dot and stem else (folder, name, "")


def _folders(path: str) -> frozenset[str]:
    return frozenset(path.split("/")[:-1]) - _FOLDERS
