"""The part of an AGENTS.md or CLAUDE.md that belongs to the playbook.

Pure functions of bytes. Text outside the two markers never changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from common import errors
from common.text.quote import safe_line
from playbook.exchange import ace_format
from playbook.models import PlaybookEntry
from playbook.rule_text import entry_line

BEGIN = "<!-- agent-memory:begin -->"
END = "<!-- agent-memory:end -->"
# This comment stands below the first marker, for people who read the file.
INTRO = (
    "<!-- Written by `manage.py export`: what is changed here is lost by the next. -->"
)

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_ENDING = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class BrokenMarkers(errors.Refusal):
    """The managed block needs one begin and one end marker; keep one pair, or remove all."""

    code = "broken_markers"


class NoBlock(errors.Refusal):
    """The text has no managed block; export into the file first."""

    code = "no_managed_block"


class NotUtf8(errors.Refusal):
    """The file is UTF-16; store it as UTF-8 first."""

    code = "not_utf8"


def block(body: str) -> str:
    """Return the managed block, which surrounds a text of whole lines with markers."""
    return f"{BEGIN}\n{INTRO}\n{body}{END}"


def format_entries(entries: Iterable[PlaybookEntry]) -> str:
    """Return the lines of entries, below a heading for each category.

    No text of an entry can start or end a comment, such as the markers of the block.
    """
    body, section = "", ""
    for entry in entries:
        if entry.category != section:
            section = entry.category
            body += f"\n### {safe_line(section)}\n\n"
        body += f"- {entry_line.escape_comments(entry.line)}\n"
    return body


def insert_block(document: bytes, block: str) -> bytes:
    """Replace the block in a document, or append the block if the document has none.

    `block` includes both markers and ends without a newline. The inserted block gets
    the line ends of the document. Every byte outside the block stays.
    """
    if document.startswith(_WIDE):
        raise NotUtf8
    rows = [row.encode() for row in block.split("\n")]
    if place := _place(document):
        before, after = document[: place[0]], document[place[1] :]
        outside = before + after
        around = outside if _ENDING.search(outside) else document
        return before + _line_end(around).join(rows) + after
    ending = _line_end(document)
    return document + _gap(document, ending) + ending.join(rows) + ending


def read_rules(text: str) -> str:
    """Return the text with only the rules of its block, each rule on its original line.

    Raises NoBlock and BrokenMarkers.
    """
    document = text.encode()
    if (place := _place(document)) is None:
        raise NoBlock
    above = "\n" * len(_ENDING.findall(document[: place[0]]))
    inside = ace_format.split_lines(document[slice(*place)].decode())
    rows = ["" if _is_comment(row) else row for row in inside]
    return above + "\n".join(entry_line.unescape_comments(row) for row in rows)


def _is_comment(row: str) -> bool:
    """Whether a row is a marker or a comment of the block."""
    return row.strip().startswith("<!--") and row.rstrip().endswith("-->")


def _place(document: bytes) -> tuple[int, int] | None:
    """Find the start and the end of the block.

    The block includes its markers, but not its last line end.
    """
    begins, ends = _find_markers(document, BEGIN), _find_markers(document, END)
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0][0] > ends[0][0]:
        raise BrokenMarkers(_marker_problem(document, begins, ends))
    return begins[0][0], ends[0][1]


def _find_markers(document: bytes, marker: str) -> list[tuple[int, int]]:
    """Find the start and the end of every line that consists of this marker."""
    found = []
    for match in _LINE.finditer(document):
        line = match[0].rstrip(b"\r\n")
        bare = line.removeprefix(_BOM) if match.start() == 0 else line
        if bare.strip(b" \t") == marker.encode():
            start = match.start() + len(line) - len(bare)
            found.append((start, match.start() + len(line)))
    return found


def _marker_problem(
    document: bytes, begins: list[tuple[int, int]], ends: list[tuple[int, int]]
) -> str:
    def lines(marks: list[tuple[int, int]]) -> str:
        numbers = [len(_ENDING.findall(document[:start])) + 1 for start, _ in marks]
        return ", ".join(map(str, numbers)) or "none"

    return (
        f"The managed block needs one line {BEGIN} and after it one line {END}. "
        f"Begin is on line {lines(begins)}, end on line {lines(ends)}. "
        "Remove the surplus lines, or all of them to start a new block."
    )


def _line_end(document: bytes) -> bytes:
    """Return the most frequent line end of the document.

    Return a newline if the document has no line end.
    """
    found = _ENDING.findall(document)
    return max((b"\n", b"\r\n", b"\r"), key=found.count)


def _gap(document: bytes, ending: bytes) -> bytes:
    """Return the line ends that put one blank line above a new block."""
    if document in (b"", _BOM):
        return b""
    if document.endswith((b"\n", b"\r")):
        return b"" if document.endswith(ending * 2) else ending
    return ending * 2
