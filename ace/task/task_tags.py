"""Find tags for a task: tags of the project, languages and technologies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from ace.task import file_paths, word_tables
from ace.task.file_paths import PathLink
from ace.task.task import Task

MAX_TAGS = 10
# In characters. A text names its subject early. What follows is often long code or logs.
MAX_TEXT = 20_000
MAX_COMMAND = 400

_TECHNOLOGIES = word_tables.read_values("technologies")
# These patterns show the language of code if there is no file name.
_SYNTAX: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^[ \t]{0,16}(?:async )?def \w{1,80}\(", re.MULTILINE), "python"),
    (re.compile(r"^[ \t]{0,16}(?:pub )?fn \w{1,80}[(<]", re.MULTILINE), "rust"),
    (re.compile(r"^func (?:\([^)\n]{1,80}\) )?\w{1,80}\(", re.MULTILINE), "go"),
    (re.compile(r"^(?:export )?(?:async )?function \w{1,80}\(", re.M), "javascript"),
    (re.compile(r"^(?:public|private) (?:static )?class \w{1,80}", re.M), "java"),
    (re.compile(r"^#include [<\"]", re.MULTILINE), "cpp"),
)
_WORD = re.compile(r"(?<![\w+#.])[A-Za-z0-9][\w+#.-]{0,60}")
# Only a file shows these languages, because their names are a letter or an everyday word.
_AMBIGUOUS = frozenset({"c", "r", "go"})


def find(
    task: Task, links: Iterable[PathLink], vocabulary: Collection[str]
) -> list[str]:
    """Return at most MAX_TAGS tags: tags of the project, then languages, then technologies.

    Tags of the project keep their spelling.
    """
    text = _text(task)
    found = [
        *_of_project(text, vocabulary),
        *_of_files(links),
        *_of_syntax(task.goal[:MAX_TEXT], task.result[:MAX_TEXT]),
        *_of_technologies(text),
    ]
    own = {name.lower(): name for name in vocabulary}
    names = [own.get(name.lower(), name) for name in found]
    return list(dict.fromkeys(names))[:MAX_TAGS]


def _text(task: Task) -> str:
    commands = (
        str(call.arguments.get("command") or call.arguments.get("cmd") or "")
        for call in task.calls
    )
    parts = [task.goal[:MAX_TEXT], task.result[:MAX_TEXT], task.feedback[:MAX_TEXT]]
    lines = "\n".join(command[:MAX_COMMAND] for command in commands)
    return "\n".join([*parts, lines[:MAX_TEXT]])


def _of_project(text: str, vocabulary: Collection[str]) -> list[str]:
    """Return the tags that are whole words of the text.

    A hyphen or an underscore in a tag also matches a space.
    """
    words = f" {_flat(text)} "
    found = {}
    for name in vocabulary:
        flat = _flat(name)
        position = words.find(f" {flat} ") if flat else -1
        if position >= 0:
            found[name] = position
    return sorted(found, key=lambda name: (found[name], name))


_BREAK = re.compile(r"[^\w+#]+|_+")


def _flat(text: str) -> str:
    return _BREAK.sub(" ", text.lower()).strip()


def _of_files(links: Iterable[PathLink]) -> Iterator[str]:
    for link in links:
        language = file_paths.LANGUAGES.get(file_paths.extension(link.path))
        if language:
            yield language


def _of_syntax(*texts: str) -> Iterator[str]:
    for pattern, language in _SYNTAX:
        if any(pattern.search(text) for text in texts):
            yield language


def _of_technologies(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0].lower().rstrip(".-")
        if word in _TECHNOLOGIES and word not in _AMBIGUOUS:
            yield _TECHNOLOGIES[word]
