"""Where a rule applies: always, or where a tool, a path or a language is used.

Each value of `PlaybookEntry.applies_to` has one of these forms: `always` (a rule about how
the project works), `tool:gh`, `path:docs/**` and `language:go`. An entry without values is
about a topic, and reaches the tasks whose words are near to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from common.text import languages, literals
from common.text.visible import drop_invisible

ALWAYS = "always"
MAX_VALUES = 20  # of an entry
MAX_VALUE = 200  # in characters
MAX_STARS = 4  # in a glob
# Characters of a task in which tools and paths are searched.
MAX_TEXT = 20_000

_TOOL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@/+-]{0,99}")
_LANGUAGE = re.compile(r"[a-z0-9][a-z0-9+#-]{0,29}")
_PATH = re.compile(r"[^\s,;`'\"<>(){}|\\]{1,190}")
_FORMS = {"tool": _TOOL, "path": _PATH, "language": _LANGUAGE}
_WORD = re.compile(r"[A-Za-z0-9_][\w.:@/+-]{0,99}")
_CODE = re.compile(r"`([^`\n]{1,200})`")
# Programs whose names are everyday words. In prose they are words; in code they are tools.
_EVERYDAY = frozenset(
    (Path(__file__).parent / "everyday_programs.txt").read_text("utf-8").splitlines()
)


@dataclass(frozen=True)
class Surroundings:
    """The tools, files and languages of a task. Names of tools are in lower case."""

    tools: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()


def check(value: str) -> str:
    """Return the value. Raise ValueError if it has none of the forms.

    Each character is visible, so that a person who accepts the value sees all of it.
    """
    kind, _, name = value.partition(":")
    pattern = _FORMS.get(kind)
    is_visible = value.isprintable() and drop_invisible(value) == value
    fits = is_visible and pattern is not None and bool(pattern.fullmatch(name))
    if value != ALWAYS and (not fits or name.count("*") > MAX_STARS):
        raise ValueError(
            "Must be always, tool:NAME, path:GLOB or language:NAME, such as tool:gh or "
            "path:docs/**."
        )
    return value


def normalise(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values once each, in their order; `always` makes the others needless."""
    unique = tuple(dict.fromkeys(value.strip() for value in values if value.strip()))
    return (ALWAYS,) if ALWAYS in unique else unique


def keep_valid(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values that have one of the forms, at most MAX_VALUES."""
    return normalise(value for value in values if is_valid(value))[:MAX_VALUES]


def is_valid(value: str) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True


def union(sides: Sequence[Sequence[str]]) -> list[str]:
    """Return where a merged rule applies. One that is about a topic stays about a topic."""
    if not all(sides):
        return []
    merged = normalise(value for side in sides for value in side)
    return list(merged[:MAX_VALUES])


def names_of(applies_to: Iterable[str], kind: str) -> Iterator[str]:
    """Yield the names of the values of a kind: tool, path or language."""
    for value in applies_to:
        head, _, name = value.partition(":")
        if head == kind and name:
            yield name


def read_surroundings(
    task: str, tools: Collection[str] = (), paths: Collection[str] = ()
) -> Surroundings:
    """Read the tools, paths and languages that a task names, and add those at hand."""
    text = task[:MAX_TEXT]
    code = " ".join(_CODE.findall(text))
    in_code = {word.lower() for word in _WORD.findall(code)}
    words = [word.rstrip(".:") for word in _WORD.findall(text)]
    named = {word.lower() for word in words} - (_EVERYDAY - in_code)
    found = [*paths, *(path.removeprefix("./") for path in _paths(text))]
    spoken = (languages.of_word(word) for word in words)
    written = (languages.of_path(path) for path in found)
    return Surroundings(
        tools=frozenset([*named, *in_code, *(tool.lower() for tool in tools)]),
        paths=tuple(dict.fromkeys(found)),
        languages=frozenset(filter(None, [*spoken, *written])),
    )


def _paths(text: str) -> Iterator[str]:
    for name in literals.find_identifiers(text):
        if "/" in name or languages.of_path(name):
            yield name


def find_match(applies_to: Iterable[str], around: Surroundings) -> str:
    """Say which tool or path of the task a rule is about; "" if there is none."""
    for value in applies_to:
        kind, _, name = value.partition(":")
        if kind == "tool" and name.lower() in around.tools:
            return f"the task uses {name}"
        if kind == "path" and any(_covers(name, path) for path in around.paths):
            return f"the task names a file of {name}"
    return ""


def find_language(applies_to: Iterable[str], around: Surroundings) -> str:
    """Return the language of the task that a rule is about; "" if there is none."""
    names = names_of(applies_to, "language")
    return next((name for name in names if name in around.languages), "")


def _covers(glob: str, path: str) -> bool:
    """Whether a glob covers a path. A folder covers what is in it, and `**` any depth."""
    path = path.rstrip("/")
    if glob.endswith("/**") or glob.endswith("/"):
        folder = glob.removesuffix("**").rstrip("/")
        return path == folder or fnmatchcase(path, f"{folder}/*")
    if "/" not in glob:
        return fnmatchcase(path.rpartition("/")[2], glob)
    return (
        fnmatchcase(path, glob)
        or glob.endswith(f"/{path}")
        or path.endswith(f"/{glob}")
    )
