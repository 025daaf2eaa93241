"""What a text says to do and not to do in code (in backticks), and whether calls did it.

An example is "When running `go test`, use `-tags` instead of `-tag`": the first code names a
case, the second is recommended, and the third is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from typing import Literal

# In characters. What is longer is no advice.
MAX_LINE, MAX_CALL = 4_000, 20_000
MAX_LINES, MAX_CODES = 40, 40  # of a text, and of a line
NEAR_WORDS = 5  # words before a code in which a negation is about it
_CODE = re.compile(r"`([^`\n]{2,200})`")
_CLAUSE_END = re.compile(r"[.;:!?](?:\s|$)|,\s")
_CASE = re.compile(
    r"\b(?:when|whenever|if|unless|while|once|before|after|until)\b", re.IGNORECASE
)
_NEGATION = re.compile(
    r"\b(?:instead of|rather than|in place of|not|never|nor|cannot)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
# These are about the code only if at most one word is between.
_AVOIDANCE = re.compile(
    r"\b(?:avoid|without|no|over|replace|replaces|forget|skip|omit|drop|stop|leave out"
    r"|unlike)(?: [\w-]{1,20})?\Z",
    re.IGNORECASE,
)
# "`x` is refused", "`x` no longer exists".
_FAILURE = re.compile(
    r"\s{0,3}(?:(?:is|was|are|has been) (?:not|refused|unknown|no|gone|removed|deprecated"
    r"|wrong|invalid)|no longer|fails?|failed|breaks|cannot"
    r"|does(?: not|n['\u2019]t) (?:exist|work|know|take|accept))\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s{0,3}(?:,|and|or|nor|,\s{0,3}(?:and|or|nor))\s{0,3}")
_EDGES = "\"'`,;()"

Role = Literal["case", "recommended", "refused"]


@dataclass(frozen=True)
class Code:
    """A code of a text, in words, and the program before it that an option belongs to."""

    words: tuple[str, ...]
    role: Role
    program: tuple[str, ...] = ()

    @property
    def head(self) -> tuple[str, ...]:
        """The words before the first option."""
        return tuple(takewhile(lambda word: not _is_option(word), self.words))

    @property
    def is_name(self) -> bool:
        """Whether it is one word, as the name of a program, and no option."""
        return len(self.words) == 1 and bool(self.head)


@dataclass(frozen=True)
class CallWords:
    """The words of a call."""

    words: tuple[str, ...]

    def has(self, code: Code) -> bool:
        """Whether the call has the code: its head in one piece, and all other words."""
        head = " ".join(code.head or code.program)
        is_run = f" {head} " in self._operands or f"/{head} " in self._operands
        rest = code.words[len(code.head) :]
        return (is_run or not head) and self._names.issuperset(rest)

    @cached_property
    def _operands(self) -> str:
        return f" {' '.join(word for word in self.words if not _is_option(word))} "

    @cached_property
    def _names(self) -> frozenset[str]:
        """The words, and each option without its value."""
        options = (word.partition("=")[0] for word in self.words if _is_option(word))
        return frozenset([*self.words, *options])


def names_form(text: str) -> bool:
    """Whether a text recommends or refuses more than names: an option or arguments."""
    return any(
        code.role == "refused" or not code.is_name
        for line in _lines(text)
        for code in find_codes(line)
        if code.role != "case"
    )


def is_followed(text: str, calls: Iterable[str], names: Collection[str] = ()) -> bool:
    """Whether calls did what a line of the text recommends, and nothing that it refuses.

    A bare name counts only where the line names no option, argument or other form. `names`
    are tools that the text is about; they count as bare names.
    """
    made = [CallWords(tuple(_words(call[:MAX_CALL]))) for call in calls]
    return any(_follows(find_codes(line), made, names) for line in _lines(text))


def _follows(
    codes: Sequence[Code], calls: Sequence[CallWords], names: Collection[str]
) -> bool:
    refused = [code for code in codes if code.role == "refused"]
    if any(call.has(code) for code in refused for call in calls):
        return False
    wanted = [code for code in codes if code.role == "recommended"]
    forms = [code for code in wanted if not code.is_name]
    if not (refused or forms):
        wanted += [Code((name.lower(),), "recommended") for name in names]
    if refused and not wanted:
        # "When running `x`, do not pass `--y`" is followed by `x` without it.
        wanted = [Code(code.program, "case") for code in refused if code.program]
    return any(call.has(code) for code in forms or wanted for call in calls)


def find_codes(line: str) -> list[Code]:
    """Return the codes of a line with their roles, in order."""
    return list(islice(_read_codes(line[:MAX_LINE]), MAX_CODES))


def _read_codes(line: str) -> Iterator[Code]:
    end = 0
    role: Role = "recommended"
    program: tuple[str, ...] = ()
    for match in _CODE.finditer(line):
        before = line[end : match.start()]
        is_listed = role == "refused" and _LIST.fullmatch(before)
        if not is_listed:
            role = _role(before, line[match.end() : match.end() + 40])
        end = match.end()
        code = Code(tuple(_words(match[1])), role, program)
        if code.words:
            yield code
        if code.head and role != "refused":
            program = code.head


def _role(before: str, after: str) -> Role:
    """Read the role of a code from the clause before it and the words after it.

    Two refusals are a demand, as in "never push without".
    """
    clause = " ".join(_CLAUSE_END.split(before)[-1].split())
    if _CASE.search(clause):
        return "case"
    near = " ".join(clause.split()[-NEAR_WORDS:])
    refusals = len(_NEGATION.findall(near)) + bool(_AVOIDANCE.search(clause))
    if refusals % 2 or (not refusals and _FAILURE.match(after)):
        return "refused"
    return "recommended"


def _lines(text: str) -> list[str]:
    return text.splitlines()[:MAX_LINES] or [""]


def _words(text: str) -> list[str]:
    found = (word.strip(_EDGES).lower() for word in text.split())
    return [word.removeprefix("./") for word in found if word]


def _is_option(word: str) -> bool:
    return word.startswith("-")
