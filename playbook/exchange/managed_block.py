"""The part of an AGENTS.md or CLAUDE.md that belongs to the playbook.

Pure functions of bytes: whatever stands outside the two markers is never touched.
"""

from __future__ import annotations

import re

from common import errors
from playbook.exchange import ace_format

BEGIN = "<!-- agent-memory:begin -->"
END = "<!-- agent-memory:end -->"
# Below the first marker, for whoever opens the file.
INTRO = (
    "<!-- Written by `manage.py export`: what is changed here is lost by the next. -->"
)

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_ENDING = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class BrokenMarkers(errors.Refusal):
    """The managed block has no single begin and end; keep one pair, or remove all."""

    code = "broken_markers"


class NoBlock(errors.Refusal):
    """The text has no managed block; export one into it first."""

    code = "no_managed_block"


class NotUtf8(errors.Refusal):
    """The file is UTF-16; store it as UTF-8 first."""

    code = "not_utf8"


def block(body: str) -> str:
    """The managed block around a text of whole lines."""
    return f"{BEGIN}\n{INTRO}\n{body}{END}"


def insert_block(document: bytes, block: str) -> bytes:
    """The document with this block: in the place of the old one, else at its end.

    `block` holds both markers and ends without a newline; it takes the line ends of
    the document. Every byte outside the block stays.
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
    """The text with nothing but the rules of its block, each on the line it was on.

    Raises NoBlock and BrokenMarkers.
    """
    document = text.encode()
    if (place := _place(document)) is None:
        raise NoBlock
    above = "\n" * len(_ENDING.findall(document[: place[0]]))
    inside = ace_format.split_lines(document[slice(*place)].decode())
    return above + "\n".join("" if _is_comment(row) else row for row in inside)


def _is_comment(row: str) -> bool:
    """The markers themselves, or what the block says about itself."""
    return row.strip().startswith("<!--") and row.rstrip().endswith("-->")


def _place(document: bytes) -> tuple[int, int] | None:
    """Where the block starts and ends, markers included, the last line end not."""
    begins, ends = _find_markers(document, BEGIN), _find_markers(document, END)
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0][0] > ends[0][0]:
        raise BrokenMarkers(_marker_problem(document, begins, ends))
    return begins[0][0], ends[0][1]


def _find_markers(document: bytes, marker: str) -> list[tuple[int, int]]:
    """Start and end of every line that is this marker and nothing else."""
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
        f"Begin stands on line {lines(begins)}, end on line {lines(ends)}. "
        "Remove the lines that are too many, or all of them to start a new block."
    )


def _line_end(document: bytes) -> bytes:
    """The line end that the document uses most; a newline where it has none."""
    found = _ENDING.findall(document)
    return max((b"\n", b"\r\n", b"\r"), key=found.count)


def _gap(document: bytes, ending: bytes) -> bytes:
    """What parts a new block from the text above it: one blank line."""
    if document in (b"", _BOM):
        return b""
    if document.endswith((b"\n", b"\r")):
        return b"" if document.endswith(ending * 2) else ending
    return ending * 2
