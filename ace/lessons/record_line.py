"""A line of the record that a language model reads, and the texts behind it."""

from __future__ import annotations

from dataclasses import dataclass

from inference.language.fence import keep_ends
from playbook.lessons.lesson import SourceText


@dataclass(frozen=True)
class RecordLine:
    """What one message or call says: `[7] FAILED Bash: …`, and the words below it.

    `sources` are the whole texts of which the line shows a part; quotes are found in them.
    """

    mark: str
    head: str
    words: str = ""
    sources: tuple[SourceText, ...] = ()

    def write(self, number: int) -> str:
        head = f"[{number}] {self.mark}{f' {self.head}' if self.head else ''}"
        return f"{head}\n{self.words}" if self.words else head


def one_line(text: str, limit: int) -> str:
    """Return a text in one line; the middle of a long one is cut out."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return f"{line[: limit * 2 // 3]} … {line[-limit // 3 :]}"


def cut(text: str, limit: int) -> str:
    """Return a text with its line breaks; the middle of a long one is cut out."""
    return keep_ends(text.strip(), limit)
