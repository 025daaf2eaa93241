"""Find the rules in Markdown that has no labels: its list items and its instructions.

A bullet with what is indented below it is one rule, and so are all steps of a numbered
list, because their order belongs to them. A paragraph is a rule if it tells somebody to do
something. Code belongs to the rule that ends with a colon above it. What a rule needs to
mean the same alone stands before it: a paragraph that introduces its list, and a heading
such as "Do not". Everything else is reported as unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from playbook.entries.text_limits import MAX_CONTENT
from playbook.exchange.ace_format import (
    RuleLine,
    UnparsedLine,
    canonical,
    dedent,
    find_fence,
    is_fence_end,
)
from playbook.rule_text import text_gates

_BULLET = re.compile(r"( {0,3})[-*+][ \t]{1,4}(?=\S)")
_STEP = re.compile(r"( {0,3})\d{1,3}[.)][ \t]{1,4}(?=\S)")
_HEADING = re.compile(r"#{1,6}(?:[ \t](?P<name>.*))?")
# Headings without which a rule below them would say the opposite.
_WARNING = re.compile(
    r"\b(?:not|don['\u2019]?t|never|avoid|wrong|bad|forbidden|prohibited|mistakes?|pitfalls?"
    r"|red flags?|anti-?patterns?)\b",
    re.IGNORECASE,
)
MAX_LEAD = 300  # characters of a heading, or a paragraph, that stands before its rules
# Whole headings of sections that say when an agent loads the file, and hold no rules. Of a
# section "When to use transactions" they are rules.
_OCCASION = re.compile(
    r"(?:when (?:not )?to use(?: it| this| (?:this|the) skill)?|use (?:(?:it|this skill) )?when)"
    r"[?.]?",
    re.IGNORECASE,
)


class BlockKind(Enum):
    BULLET = "bullet"
    STEPS = "steps"
    TEXT = "text"
    CODE = "It is code without an instruction above it."
    TABLE = "It is a table; write its rows as list items."
    COMMENT = "It is a comment."


@dataclass
class Block:
    """A block of Markdown: its first line, and its rows, of which wrapped ones are joined."""

    kind: BlockKind
    number: int
    section: str
    indent: int  # of its first row, in characters
    rows: list[list[str]] = field(default_factory=list)
    has_gap: bool = False
    is_after_code: bool = False
    is_followed_by_list: bool = False

    @property
    def text(self) -> str:
        first, *more = (" ".join(parts) for parts in self.rows)
        return canonical("\n".join([first, *dedent(more)]))

    @property
    def is_list(self) -> bool:
        return self.kind in (BlockKind.BULLET, BlockKind.STEPS)

    @property
    def announces(self) -> bool:
        """Whether its last words announce what follows."""
        return self.rows[-1][-1].rstrip().endswith(":")

    def add(self, row: str) -> None:
        if self.has_gap:
            self.rows.append([""])
        self.rows.append([row.rstrip()])
        self.has_gap = self.is_after_code = False

    def wrap(self, row: str) -> None:
        self.rows[-1].append(row.strip())


def parse(rows: Sequence[str]) -> tuple[list[RuleLine], list[UnparsedLine]]:
    """Return the rules of a text by its rows, and the rest with the reason.

    Sections that say only when to use the file are left out.
    """
    lines: list[RuleLine] = []
    unparsed: list[UnparsedLine] = []
    lead, section = "", ""  # of the list that a paragraph introduces
    for block in read_blocks(rows):
        if _OCCASION.fullmatch(block.section):
            continue
        if block.kind is not BlockKind.BULLET or block.section != section:
            lead, section = "", block.section
        if block.is_followed_by_list and len(block.text) <= MAX_LEAD:
            lead = block.text
        elif why := _find_obstacle(block):
            unparsed.append(UnparsedLine(block.number, block.text, why))
        else:
            heading = f"{section}:" if _warns(section) else ""
            text = " ".join(filter(None, [heading, lead, block.text]))
            lines.append(RuleLine("", text, section=section, number=block.number))
    return lines, unparsed


def _warns(section: str) -> bool:
    return len(section) <= MAX_LEAD and _WARNING.search(section) is not None


def _find_obstacle(block: Block) -> str:
    """Say why a block is no rule; "" if it is one."""
    if block.is_list:
        return ""
    if block.kind is not BlockKind.TEXT:
        return str(block.kind.value)
    if block.is_followed_by_list:
        return "It introduces the list below it."
    text = block.text
    if len(text) > MAX_CONTENT or text_gates.check_actionable(text).verdict == "pass":
        return ""  # what is too long is refused with its length
    return "It tells nobody to do anything; write it as a list item to import it."


def read_blocks(rows: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of a text in order, without its headings."""
    section = ""
    block: Block | None = None
    closing = ""  # what ends the code or the comment that is open
    for number, row in enumerate(rows, start=1):
        bare = row.strip()
        if closing:
            assert block
            block.add(row)
            if _ends(bare, closing):
                closing = ""
                block.is_after_code = True
            continue
        if not bare:
            if block:
                block.has_gap = True
            continue
        heading = _HEADING.fullmatch(row.rstrip())
        if heading or _is_break(bare):
            if block:
                yield block
            block = None
            if heading:
                section = (heading["name"] or "").strip(" \t:#")
            continue
        kind = _kind_of(row)
        if block and _continues(block, row, kind):
            _extend(block, row, kind)
        else:
            if block:
                block.is_followed_by_list = kind is BlockKind.BULLET and block.announces
                yield block
            block = Block(kind, number, section, _indent(row))
            block.add(_strip_mark(row) if kind is BlockKind.BULLET else row)
        closing = _opens(bare)
    if block:
        yield block


def _kind_of(row: str) -> BlockKind:
    bare = row.strip()
    if find_fence(bare):
        return BlockKind.CODE
    if bare.startswith("<!--"):
        return BlockKind.COMMENT
    if bare.startswith("|"):
        return BlockKind.TABLE
    if _BULLET.match(row):
        return BlockKind.BULLET
    return BlockKind.STEPS if _STEP.match(row) else BlockKind.TEXT


def _continues(block: Block, row: str, kind: BlockKind) -> bool:
    """Whether a row belongs to the block above it."""
    is_indented = row[:1] in (" ", "\t") and block.is_list
    if kind is BlockKind.STEPS:
        return block.kind is BlockKind.STEPS or block.announces or _is_deep(row, block)
    if kind is BlockKind.BULLET:
        return _is_deep(row, block)
    if kind is BlockKind.CODE:
        return is_indented or (block.announces and block.kind is not BlockKind.TABLE)
    if kind is BlockKind.TEXT and not block.has_gap:
        return block.kind in (BlockKind.TEXT, BlockKind.BULLET, BlockKind.STEPS)
    if kind is BlockKind.TABLE and not block.has_gap:
        return block.kind is BlockKind.TABLE
    return is_indented and kind is not BlockKind.COMMENT


def _is_deep(row: str, block: Block) -> bool:
    """Whether a list item is nested in the list item above it."""
    return block.is_list and _indent(row) >= block.indent + 2


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _extend(block: Block, row: str, kind: BlockKind) -> None:
    if kind is BlockKind.STEPS and block.kind is BlockKind.TEXT:
        block.kind = BlockKind.STEPS
    if kind is BlockKind.TEXT and not (block.has_gap or block.is_after_code):
        block.wrap(row)
    else:
        block.add(row)


def _strip_mark(row: str) -> str:
    return _BULLET.sub("", row, count=1)


def _opens(bare: str) -> str:
    """Return what ends the code or the comment that a row opens; "" if it opens none."""
    if fence := find_fence(bare):
        return fence
    return "-->" if bare.startswith("<!--") and "-->" not in bare else ""


def _ends(bare: str, closing: str) -> bool:
    if closing == "-->":
        return closing in bare
    return is_fence_end(bare, closing)


def _is_break(bare: str) -> bool:
    """Whether a row is a line between two parts: three or more of `-`, `*` or `_`."""
    marks = bare.replace(" ", "")
    return len(marks) > 2 and marks[0] in "-*_" and not marks.strip(marks[0])
