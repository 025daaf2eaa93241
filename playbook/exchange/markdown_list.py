"""Read a Markdown file: each item of a list is one rule.

What is indented below an item belongs to its rule, and so do wrapped rows. A row that ends with
a colon above a list stands before each of its rules, because "Never do these:" changes what
they say. Everything else is reported as unparsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from playbook.exchange import ace_format
from playbook.exchange.ace_format import ParsedPlaybook, RuleLine, UnparsedLine

_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4}(?P<text>\S.*)")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<name>.*)")
NO_ITEM = "It is no item of a list."


@dataclass(frozen=True)
class _Item:
    number: int
    section: str
    lead: str  # the row that introduces its list
    rows: list[str]

    @property
    def rule_line(self) -> RuleLine:
        label, first = ace_format.split_label(self.rows[0])
        text = "\n".join([first, *ace_format.dedent(self.rows[1:])])
        whole = f"{self.lead} {text}".strip()
        return RuleLine(label, whole, section=self.section, number=self.number)


@dataclass
class _Reader:
    """What was read; `is_open` says whether the next row may belong to the last item."""

    items: list[_Item] = field(default_factory=list)
    unparsed: list[UnparsedLine] = field(default_factory=list)
    section: str = ""
    lead: str = ""
    is_open: bool = False
    has_gap: bool = False

    def read(self, number: int, row: str, *, is_code: bool) -> None:
        bare, is_indented = row.strip(), row[:1] in (" ", "\t")
        if heading := None if is_code else _HEADING.fullmatch(bare):
            self.section, self.lead = heading["name"].strip(" \t:#"), ""
            self.is_open = False
        elif self.is_open and (is_indented or (is_code and not self.has_gap)):
            self.items[-1].rows.extend([*([""] * self.has_gap), row.rstrip()])
        elif item := None if is_code else _ITEM.fullmatch(row):
            rows = [item["text"].rstrip()]
            self.items.append(_Item(number, self.section, self.lead, rows))
            self.is_open = True
        elif self.is_open and not self.has_gap:
            self.items[-1].rows[-1] += f" {bare}"
        else:
            self.is_open, self.lead = False, bare if bare.endswith(":") else ""
            if bare and not self.lead:
                self.unparsed.append(UnparsedLine(number, row, NO_ITEM))
        self.has_gap = False


def parse(text: str) -> ParsedPlaybook:
    """Return the rules of a text, and the rest with the reason."""
    rows = ace_format.split_lines(text.removeprefix("\ufeff"))
    code = ace_format.find_code(rows)
    reader = _Reader()
    for number, row in enumerate(rows):
        if row.strip() or number in code:
            reader.read(number + 1, row, is_code=number in code)
        else:
            reader.has_gap = True
    lines = tuple(item.rule_line for item in reader.items)
    return ParsedPlaybook(lines, tuple(reader.unparsed))
