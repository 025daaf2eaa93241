"""The line format of ACE playbooks: sections, and one labelled rule a line.

    ## SECTION NAME
    [gotchas-00042] helpful=5 harmful=0 :: the text

The counters may be missing. What is indented below a rule, or fenced as code, belongs
to its text. Every other line is reported: nothing is dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

# More than any trained playbook counts. 5,000 copies of it still fit into a column.
LARGEST_COUNT = 99_999

_HEADING = re.compile(r"#{1,6}(?:\s(?P<name>.*))?")
# A letter first, a hyphen and a digit somewhere: `[x]`, `[link]` and `[1]` are no labels.
_RULE = re.compile(
    r"(?:[-*]\s+)?\[(?P<label>(?=[^\]]*-)(?=[^\]]*\d)[A-Za-z][\w.-]{0,63})\]"
    r"(?!\()(?P<rest>.*)",
    re.DOTALL,
)
_COUNTS = re.compile(
    r"\s*(?:(?P<pairs>(?:[A-Za-z_]+=[^\s:=]*(?:\s+|(?=::)))+)::|::(?=\s|$))"
    r"(?P<text>.*)"
)
_FENCE = re.compile(r"`{3,}|~{3,}")
_INDENT = "  "
# Rows in which a block of code must end; a longer one is no block (and no scan).
_LONGEST_FENCE = 200


@dataclass(frozen=True)
class RuleLine:
    """One rule. `number` is that of its first line, from 1; it tells where, not what."""

    label: str
    text: str
    helpful: int = 0
    harmful: int = 0
    section: str = ""
    number: int = field(default=0, compare=False)


@dataclass(frozen=True)
class UnparsedLine:
    """A line that is no rule and no heading."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class ParsedPlaybook:
    """`notes` tell what of a rule was read otherwise than it stands there."""

    lines: tuple[RuleLine, ...]
    unparsed: tuple[UnparsedLine, ...] = ()
    notes: tuple[str, ...] = ()


def split_lines(text: str) -> list[str]:
    """Split at line ends of every kind; a form feed or U+2028 is part of a text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def parse(text: str) -> ParsedPlaybook:
    """Read a playbook; each line is a rule's, a heading, blank, or in `unparsed`."""
    found = split_lines(text.removeprefix("\ufeff"))
    lines: list[RuleLine] = []
    unparsed: list[UnparsedLine] = []
    notes: list[str] = []
    section, at = "", 0
    while at < len(found):
        row, number = found[at], at + 1
        at += 1
        if rule := _RULE.fullmatch(row.strip()):
            more = _continuation(found, at, opened=_opens_fence(row))
            at += len(more)
            line, told = _line(rule, more, section, number)
            notes += told
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


def format(lines: Iterable[RuleLine]) -> str:
    """Write rules; `parse` gives back the same ones."""
    written: list[str] = []
    section = ""
    for line in lines:
        if line.section != section:
            section = line.section
            written += ["", f"## {section}".rstrip()] if written else [f"## {section}"]
        written += _format_rule(line)
    return "".join(f"{row}\n" for row in written)


def _format_rule(line: RuleLine) -> Iterator[str]:
    first, *more = _safe(line.text)
    counts = f"helpful={line.helpful} harmful={line.harmful}"
    yield f"[{line.label}] {counts} :: {first}"
    for row in more:
        yield f"{_INDENT}{row}" if row else ""


def _safe(text: str) -> list[str]:
    """The rows of a text, of which none but the first can pass for a rule or heading.

    Other readers of this format strip a line before they look at it.
    """
    first, *others = [row.rstrip() for row in split_lines(text.strip())]
    kept = [first]
    for row in others:
        while kept and _is_misleading(row):
            above = kept.pop()
            row = f"{above} {row.strip()}" if above else row
        kept.append(row)
    return kept


def _is_misleading(row: str) -> bool:
    bare = row.strip()
    return bare.startswith("##") or _RULE.fullmatch(bare) is not None


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
                notes.append(f"Line {number}: {pair[:80]} is not taken over.")
    text = "\n".join(_safe("\n".join([first.strip(), *_dedent(more)])))
    line = RuleLine(rule["label"], text, **counts, section=section, number=number)
    return line, notes


def _is_count(value: str) -> bool:
    digits = value.isascii() and value.isdigit()
    return digits and len(value) < 12 and int(value) <= LARGEST_COUNT


def _continuation(found: Sequence[str], at: int, *, opened: bool) -> list[str]:
    """The rows from `at` that belong to the rule above them."""
    last = end = at
    fenced = opened and _closes(found, at)
    while end < len(found):
        row = found[end]
        if _RULE.fullmatch(row.strip()):
            break
        end += 1
        if fenced or row[:1] in (" ", "\t"):
            if _FENCE.match(row.strip()):
                fenced = not fenced and _closes(found, end)
            if row.strip():
                last = end
        elif row.strip():
            if not _FENCE.match(row) or not _closes(found, end):
                break
            fenced = True
    return list(found[at:last])


def _opens_fence(row: str) -> bool:
    """Whether a rule's first row ends by opening a block of code."""
    return re.search(r"(?:`{3,}|~{3,})\w*\s*$", row) is not None


def _closes(found: Sequence[str], at: int) -> bool:
    """Whether a fence ends before the next rule; a lone one is only punctuation."""
    for row in found[at : at + _LONGEST_FENCE]:
        if _RULE.fullmatch(row.strip()):
            return False
        if _FENCE.fullmatch(row.strip()):
            return True
    return False


def _dedent(more: Sequence[str]) -> list[str]:
    """Without the indentation that `format` writes, where every row has it."""
    kept = [row.rstrip() for row in more]
    if all(row.startswith(_INDENT) for row in kept if row):
        return [row.removeprefix(_INDENT) for row in kept]
    return kept
