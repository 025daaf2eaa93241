"""Describe the files that a task used: the words of their code, and what they are for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ace.repairs import edits, failed_call
from ace.rules import file_purpose
from ace.rules.task import Task, ToolCall
from common.text import word_hashes

MAX_WORDS = 60  # distinct words of one file in one task
MAX_GOAL = (
    2_000  # characters of the goal; a longer one has pasted text behind the request
)
# `   12→text` and `12: text`, as tools number the lines that they show.
_NUMBER = re.compile(r"^[ \t]{0,8}(\d{1,6})(?:→|\t|: ?|\| ?)", re.MULTILINE)


@dataclass
class FileWords:
    """The words of a file, how often a task read or changed them, and its purpose."""

    counts: Counter[str] = field(default_factory=Counter)
    purpose: str = ""

    def hashes(self) -> list[int]:
        return hash_words(word for word, _ in self.counts.most_common(MAX_WORDS))


def of_task(task: Task) -> dict[str, FileWords]:
    """Return the files that tools read or changed, by the paths that the task wrote."""
    found: dict[str, FileWords] = {}
    for call in task.calls:
        path = failed_call.path_of(call)
        if not path or call.has_failed:
            continue
        file = found.setdefault(path, FileWords())
        if call.kind == "read":
            _add_read(file, call)
        for edit in edits.read(call):
            file.counts.update(word_hashes.split(edit.new))
            file.counts.update(word_hashes.split(edit.old))
            if not file.purpose:
                of_new = "" if edit.old else file_purpose.of_text(edit.new)
                names = file_purpose.find_declarations(edit.new)
                file.purpose = of_new or file_purpose.of_names(names)
    for file in found.values():
        file.counts.update(word_hashes.split(file.purpose))
    return found


def of_goal(task: Task) -> list[int]:
    """Return the hashes of the words of the goal."""
    return hash_words(word_hashes.split(task.goal[:MAX_GOAL]))


def hash_words(words: Iterable[str]) -> list[int]:
    """Return the hashes of the first distinct words, in order."""
    distinct = list(dict.fromkeys(words))
    return [word_hashes.hash_word(word) for word in distinct[:MAX_WORDS]]


def _add_read(file: FileWords, call: ToolCall) -> None:
    shown = call.result[: word_hashes.MAX_TEXT]
    text = _NUMBER.sub("", shown)
    names = file_purpose.find_declarations(text)
    for name in names:
        file.counts.update(word_hashes.split(name))
    first = _NUMBER.match(shown)
    is_top = first is None or first[1] == "1"
    described = file_purpose.of_text(text) if is_top else ""
    file.purpose = described or file.purpose or file_purpose.of_names(names)
