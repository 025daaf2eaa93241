"""Read and write the line format of ACE playbooks: sections, and one labelled rule a line.

    ## SECTION NAME
    [gotchas-00042] helpful=5 harmful=0 :: the text

The counters are optional. Lines that are indented below a rule, or fenced as code,
belong to its text. Every other line is reported as unparsed. In an indented line, a
backslash stands before what would pass for another rule, a heading, a comment or the
fence of a block that never ends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from common.text.quote import json_string, safe_line
from common.text.visible import drop_invisible
from playbook.rule_text.entry_line import COUNTERS

# Larger than any count in trained playbooks; the sum of 5,000 of them fits in a column.
LARGEST_COUNT = 99_999

_HEADING = re.compile(r"#{1,6}(?:\s(?P<name>.*))?")
# A label starts with a letter and contains a hyphen and a digit. `[x]` and `[1]` are not
# labels.
_RULE = re.compile(
    r"(?:[-*]\s+)?\[(?P<label>(?=[^\]]*-)(?=[^\]]*\d)[A-Za-z][\w.-]{0,63})\]"
    r"(?!\()(?P<rest>.*)",
    re.DOTALL,
)
_COUNTS = re.compile(rf"\s*(?:{COUNTERS.pattern})(?P<text>.*)")
# What other readers of the format take for a rule.
_FOREIGN_RULE = re.compile(r"(?:[-*]\s+)?\[[^\]]+\]\s*\w+=")
_FENCE = re.compile(r"`{3,}|~{3,}")
_OPENING_FENCE = re.compile(r"(?P<fence>`{3,})[^`]*|(?P<tildes>~{3,}).*")
_INDENT = "  "
# A block of code must end within this number of rows. The limit bounds the scan.
_LONGEST_FENCE = 200


@dataclass(frozen=True)
class RuleLine:
    """One rule of a playbook.

    `number` is the number of the rule's first line. Comparisons ignore it.
    """

    label: str
    text: str
    helpful: int = 0
    harmful: int = 0
    section: str = ""
    number: int = field(default=0, compare=False)


@dataclass(frozen=True)
class UnparsedLine:
    """A line that is neither a rule nor a heading."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class ParsedPlaybook:
    """The lines of a parsed playbook.

    `notes` list the parts of the file that were not read as written.
    """

    lines: tuple[RuleLine, ...]
    unparsed: tuple[UnparsedLine, ...] = ()
    notes: tuple[str, ...] = ()


def split_lines(text: str) -> list[str]:
    """Split a text at every kind of line end.

    A form feed or U+2028 is not a line end, but part of a line.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def parse(text: str) -> ParsedPlaybook:
    """Parse a playbook.

    Lines that are not rules, headings or blank lines are in `unparsed`.
    """
    rows = split_lines(text.removeprefix("\ufeff"))
    lines: list[RuleLine] = []
    unparsed: list[UnparsedLine] = []
    notes: list[str] = []
    section, at = "", 0
    while at < len(rows):
        row, number = rows[at], at + 1
        at += 1
        if rule := _RULE.fullmatch(row.strip()):
            more = _continuation(rows, at, is_fence_open=_opens_fence(row))
            at += len(more)
            line, line_notes = _line(rule, more, section, number)
            notes += line_notes
            if line.text:
                lines.append(line)
            else:
                unparsed.append(UnparsedLine(number, row, "The label has no text."))
        elif heading := _HEADING.fullmatch(row.rstrip()):
            section = (heading["name"] or "").strip(" \t:")
        elif row.strip():
            why = "It has no label such as [rule-00001], and is not indented below one."
            unparsed.append(UnparsedLine(number, row, why))
    return ParsedPlaybook(tuple(lines), tuple(unparsed), tuple(notes))


def split_label(text: str) -> tuple[str, str]:
    """Return the label that begins a text, and the rest; the label may be empty."""
    rule = _RULE.fullmatch(text)
    if rule is None:
        return "", text
    counted = _COUNTS.fullmatch(rule["rest"])
    return rule["label"], (counted["text"] if counted else rule["rest"]).strip()


def canonical(text: str) -> str:
    """Return the form of a text that the format keeps exactly.

    It has no invisible characters, no spaces at the end of a line, and no blank line at
    its ends. Every kind of line end is a newline.
    """
    rows = split_lines(drop_invisible(text))
    return "\n".join(row.rstrip() for row in rows).strip()


def format(lines: Iterable[RuleLine]) -> str:
    """Format rules as text.

    `parse` returns the same rules from the text, with their canonical texts.
    """
    written: list[str] = []
    section = ""
    for line in lines:
        if line.section != section:
            section = line.section
            heading = f"## {safe_line(section)}".rstrip()
            written += ["", heading] if written else [heading]
        written += _format_rule(line)
    return "".join(f"{row}\n" for row in written)


def _format_rule(line: RuleLine) -> Iterator[str]:
    counts = f"helpful={line.helpful} harmful={line.harmful}"
    return _format_rows(f"[{line.label}] {counts} :: ", line.text)


def format_item(label: str, text: str) -> Iterator[str]:
    """Yield the rows of a rule as an item of a Markdown list, without its counters.

    `parse` returns the same label and the canonical text.
    """
    mark = ":: " if COUNTERS.match(canonical(text)) else ""
    return _format_rows(f"- [{label}] {mark}", text)


def _format_rows(head: str, text: str) -> Iterator[str]:
    """Yield the rows of a rule: its first row after the head, the others indented."""
    first, *more = canonical(text).split("\n")
    yield f"{head}{first}"
    for row in _escape_rows(more):
        yield f"{_INDENT}{row}" if row else ""


def _escape_rows(rows: Sequence[str]) -> Iterator[str]:
    """Escape each row that could pass for another part of a playbook.

    Other readers of this format strip each line before they parse the line.
    """
    fences = _paired_fences([row.strip() for row in rows])
    for number, row in enumerate(rows):
        bare = row.lstrip()
        is_plain = number in fences or not _is_misleading(bare.lstrip("\\"))
        yield row if is_plain else f"{row[: len(row) - len(bare)]}\\{bare}"


def _unescape_row(row: str) -> str:
    bare = row.lstrip()
    if bare.startswith("\\") and _is_misleading(bare.lstrip("\\")):
        return f"{row[: len(row) - len(bare)]}{bare[1:]}"
    return row


def _is_misleading(bare: str) -> bool:
    is_mark = bare.startswith(("##", "<!--")) or _FENCE.match(bare) is not None
    return is_mark or bool(_RULE.fullmatch(bare) or _FOREIGN_RULE.match(bare))


def _paired_fences(rows: Sequence[str]) -> set[int]:
    """Return the numbers of the rows that open and close a block of code."""
    paired: set[int] = set()
    code = _CodeBlocks(rows)
    number = 0
    while number < len(rows):
        if end := code.find_end(number):
            paired |= {number, end}
            number = end
        number += 1
    return paired


def find_code(rows: Sequence[str]) -> set[int]:
    """Return the numbers of the rows in blocks of code that end, with their fences."""
    found: set[int] = set()
    code = _CodeBlocks([row.strip() for row in rows])
    number = 0
    while number < len(rows):
        if end := code.find_end(number):
            found |= set(range(number, end + 1))
            number = end
        number += 1
    return found


class _CodeBlocks:
    """The blocks of code in stripped rows, which are asked for in order."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._rows = rows
        # The shortest fences without an end: none is looked for twice.
        self._unclosed = {"`": sys.maxsize, "~": sys.maxsize}

    def find_end(self, number: int) -> int | None:
        """Return the row that closes the block which this row opens; None if there is none."""
        fence = _find_fence(self._rows[number])
        if not fence or len(fence) >= self._unclosed[fence[0]]:
            return None
        end = _closing_row(self._rows, number + 1, fence)
        if end is None:
            self._unclosed[fence[0]] = len(fence)
        return end


def _find_fence(row: str) -> str:
    """Return the fence that opens a block of code in a stripped row; "" if none does."""
    found = _OPENING_FENCE.fullmatch(row)
    return (found["fence"] or found["tildes"]) if found else ""


def _closing_row(rows: Sequence[str], start: int, fence: str) -> int | None:
    """Return the first row that only has the fence, or a longer one."""
    for number in range(start, len(rows)):
        row = rows[number]
        if _is_fence_end(row, fence):
            return number
    return None


def _is_fence_end(row: str, fence: str) -> bool:
    """Whether a stripped row has only the fence, or a longer one."""
    return row.startswith(fence) and not row.strip(fence[0])


def _line(
    rule: re.Match[str], more: Sequence[str], section: str, number: int
) -> tuple[RuleLine, list[str]]:
    first, counts, notes = rule["rest"], {"helpful": 0, "harmful": 0}, []
    if head := _COUNTS.fullmatch(rule["rest"]):
        first = head["text"]
        for pair in (head["pairs"] or "").split():
            name, _, value = pair.partition("=")
            if name in counts and _is_count(value):
                counts[name] = int(value)
            else:
                notes.append(f"Line {number}: {json_string(pair, 80)} is not imported.")
    rows = [first.strip(), *map(_unescape_row, dedent(more))]
    text = "\n".join(rows).strip()
    line = RuleLine(
        rule["label"],
        text,
        counts["helpful"],
        counts["harmful"],
        section=section,
        number=number,
    )
    return line, notes


def _is_count(value: str) -> bool:
    digits = value.isascii() and value.isdigit()
    return digits and len(value) < 12 and int(value) <= LARGEST_COUNT


def _continuation(rows: Sequence[str], at: int, *, is_fence_open: bool) -> list[str]:
    """Return the rows from `at` on that belong to the rule above these rows."""
    last = end = at
    fenced = is_fence_open and _closes(rows, at)
    while end < len(rows):
        row = rows[end]
        if _RULE.fullmatch(row.strip()):
            break
        end += 1
        if fenced or row[:1] in (" ", "\t"):
            if _FENCE.match(row.strip()):
                fenced = not fenced and _closes(rows, end)
            if row.strip():
                last = end
        elif row.strip():
            if not _FENCE.match(row) or not _closes(rows, end):
                break
            fenced = True
    return list(rows[at:last])


def _opens_fence(row: str) -> bool:
    """Whether the first row of a rule opens a block of code at the end of the row."""
    return re.search(r"(?:(?<!`)`{3,}+|(?<!~)~{3,}+)\w*+\s*+$", row) is not None


def _closes(rows: Sequence[str], at: int) -> bool:
    """Whether a fence closes before the next rule.

    A fence that does not close before the next rule opens no block.
    """
    for row in rows[at : at + _LONGEST_FENCE]:
        if _RULE.fullmatch(row.strip()):
            return False
        if _FENCE.fullmatch(row.strip()):
            return True
    return False


def dedent(more: Sequence[str]) -> list[str]:
    """Remove the indentation that `format` writes, if every row has this indentation."""
    result = [row.rstrip() for row in more]
    if all(row.startswith(_INDENT) for row in result if row):
        return [row.removeprefix(_INDENT) for row in result]
    return result
