"""Find dangerous advice in a text: commands, addresses that are not the project's, hidden words.

Who may write a text decides first (docs/trust.md); this is the second look. What the
sentence forbids or describes is no advice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache

from common.text import hosts
from common.text.hidden_text import find_hidden
from common.text.text_tables import WORDS, read_lines
from common.text.visible import MatchingForm, matching_form

MAX_DANGERS = 200  # no reviewer reads more of one text
UNREADABLE = "It hides how its words are written, so a person reads it first."
FOREIGN_HOST = "It names a host that is not the project's."

_PROGRAMS = {
    "<FETCH>": r"(?:curl|wget|iwr|irm|invoke-webrequest|aria2c|fetch)(?:\.exe)?",
    "<SHELL>": r"(?:/(?:usr/)?bin/)?(?:env )?(?:(?:ba|z|da|k)?sh|python[\d.]*|perl|ruby|node|php|iex"
    r"|invoke-expression|pwsh|powershell|eval|source)",
    "<DECODE>": r"(?:base(?:64|32) (?:-d|-di|--decode)|xxd -r|openssl|gunzip|zcat|b64decode|atob)",
}
_GAP = re.compile(r"(?:\\\r?\n|[\s`]|(?<=\n)> )+")
_LINE_BREAK = re.compile(r"[\r\n]+")
_CLAUSE_END = re.compile(r"[.;:!?,](?=\s)|\n|\bso\b|\bthen\b|\band\b")
# Words before a command that forbid or describe it, and words that take this back.
_EXCUSES = re.compile(
    r"\b(?:never|not|cannot|without|no|avoid\w*|refus\w+|reject\w*|forbid\w*|bann?\w*|block\w*|stop\w*|detect\w*"
    r"|flags?|finds?|search|aborts?|defines?|explain\w*|document\w*|warns?|mention\w*|instead of|rather than|remove|replace|fail\w*"
    r"|only|treats|covers?|asks?|needs?|rename|prefer|why|which|counts?|dropped|marks?|about|test_\w+)\b|n't\b"
)
_NO_EXCUSE = re.compile(
    r"\b(?:forget|hesitate|waste|matter|wait\w*|problem|trouble|tell|doubt|red|no need|fails?|failing|cannot be|need approval)\b"
)
_TOLD = re.compile(
    r"^[`\"']? must (?:not|never)\b|^\S{0,30}[`\"']? (?:is|are|was|were|has|hides|flag|prompts|option|raises|overwrites)\b"
    r"(?: \w+)* ?(?:not|never|refused|rejected|blocked|banned|forbidden|removed|finding|dangerous|allowed|renamed|no|only"
    r"|failures|for|test\w*|unattended|turns)"
)


@dataclass(frozen=True)
class Danger:
    """A dangerous phrase: its kind, its place in the original text, one sentence on it."""

    kind: str
    start: int
    end: int
    message: str


def find_dangers(text: str, *, own_hosts: Set[str] = frozenset()) -> tuple[Danger, ...]:
    """Find dangerous advice, in the order of its place, each place once for each kind.

    `own_hosts` are the hosts, or hosts with the beginning of a path, of the project.
    """
    found = {Danger("hidden", *span, UNREADABLE) for span in find_hidden(text)}
    for reading in read_as_a_reader(text):
        found.update(_find(reading, own_hosts))
    ordered = sorted(found, key=lambda danger: (danger.start, danger.end, danger.kind))
    return tuple(ordered[:MAX_DANGERS])


def read_as_a_reader(text: str) -> Iterator[MatchingForm]:
    """Yield the text in lower case: its white space as one space, and its lines joined."""
    form = matching_form(text)
    yield _replace(form, _GAP, " ")
    if _LINE_BREAK.search(form.text):
        yield _replace(_replace(form, _LINE_BREAK, ""), _GAP, " ")


def _replace(form: MatchingForm, pattern: re.Pattern[str], by: str) -> MatchingForm:
    parts: list[str] = []
    origins: list[int] = []
    end = 0
    for match in [*pattern.finditer(form.text), None]:
        start = match.start() if match else len(form.text)
        parts.append(form.text[end:start])
        origins.extend(form.origins[end:start])
        if match:
            parts.append(by)
            origins.extend([form.origins[start]] * len(by))
            end = match.end()
    lowered = (c.lower() if len(c.lower()) == 1 else c for c in "".join(parts))
    return MatchingForm("".join(lowered), origins)


def _find(reading: MatchingForm, own_hosts: Set[str]) -> Iterator[Danger]:
    text = reading.text
    for kind, message, pattern in _table():
        for match in pattern.finditer(text):
            start, end = match.span()
            if start < end and _is_advised(text, start, end):
                if kind == "package_source" and hosts.are_known(match[0], own_hosts):
                    continue
                yield Danger(kind, *reading.origin_span(start, end), message)
    for start, end in hosts.find_foreign(text, own_hosts):
        yield Danger("foreign_url", *reading.origin_span(start, end), FOREIGN_HOST)


def _is_advised(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 120) : start]
    clause = _CLAUSE_END.split(before)[-1]
    if _EXCUSES.search(clause) and not _NO_EXCUSE.search(clause):
        return False
    return not _TOLD.match(text[end : end + 80])


@cache
def _table() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    rows: list[tuple[str, str, re.Pattern[str]]] = []
    kind = message = ""
    for line in read_lines(WORDS / "dangers.txt"):
        if head := re.fullmatch(r"\[(\w+): (.*)\]", line):
            kind, message = head.groups()
            continue
        for name, program in _PROGRAMS.items():
            line = line.replace(name, program)
        rows.append((kind, message, re.compile(line)))
    return tuple(rows)
