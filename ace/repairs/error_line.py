"""Choose the line of a result that states the error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from ace.repairs import masks
from ace.task import word_tables

MAX_LINE = 300  # characters of a line that count
# In characters. A program says what went wrong at the beginning or at the end.
HEAD, TAIL = 4_000, 20_000
BEFORE, AFTER = 4, 8  # lines about an error that speak of it
MAX_BANNERS = 20  # lines of one success that may be banners

# What pytest puts before an error.
_MARGIN = re.compile(r"^E {2,8}")
_ANSI = re.compile(r"\x1b?\[[0-9;]{0,12}m")
# Lines that only lead to the error, or come after it: frames, rules, warnings, usage, and
# what a runner of tasks adds to the program that it ran.
_NEVER = re.compile(
    r"exit code:? \d|traceback \(most recent|\s{0,40}file \".{0,250}\", line \d|\s{0,40}at .{1,250}:\d"
    r"|[=~-]{3}|\s{0,80}[\^~]{1,80}$|during handling of|the above exception|\S{0,200}warning:"
    r"|warning\b|usage:|hint:|try ['\"`]|.{0,250}error task failed"
    r"|npm (?:err!|error) (?:code|path|command|a complete|lifecycle|errno)|make(?:\[\d{1,3}\])?: \*\*\* \["
    r"|=*\s?\d{1,6} (?:failed|errors?|passed)\b|.{0,250}elifecycle|error: script .{0,200} exited|error: recipe .{0,200} failed"
    r"|error: process completed|command failed with exit|\s{0,300}$",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(r"no such file|not found|no module named", re.IGNORECASE)
# Of the kinds of lines, the first that a result has states the error: what the program was
# not able to take or to find, then what it could not read, then other errors.
_KINDS = (
    re.compile(
        r"(?:unknown|unrecognized|unrecognised|invalid|illegal|no such|ambiguous|unexpected)"
        r"\s{1,3}(?:shorthand\s{1,3})?(?:flag|option|argument|command|subcommand|task|target|script)"
        r"|flag provided but not defined|no such file|not found|no module named|cannot find"
        r"|does not exist|doesn't exist|did not match|unknown revision|permission denied"
        r"|missing script|no rule to make target|no required module|no matches found"
        r"|updates to \S{1,60} needed",
        re.IGNORECASE,
    ),
    re.compile(
        r"parse error|syntax ?error|failed to parse|unexpected token|\binvalid\b"
        r"|HTTP(?:/\d(?:\.\d)?)?\s?\D{0,3}[45]\d\d\b|status(?: code)?:? [45]\d\d\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:fatal|error|exception|panic)\b", re.IGNORECASE),
    re.compile(
        r"fail|conflict|denied|cannot|could not|unable|must\b|refused|not (?:set|running|supported)"
        r"|\brequire|no value",
        re.IGNORECASE,
    ),
)
_ANY_KIND = re.compile("|".join(kind.pattern for kind in _KINDS), re.IGNORECASE)
# One of these is in each line of a known kind. Looking for them is faster than the patterns.
_HINTS = word_tables.read("error_hints")
_EXCEPTION = re.compile(
    r"(?:[\w]{1,60}\.){0,6}\w{0,60}(?:Error|Exception|Exit|Interrupt)(?::|$)"
)


def find(text: str, banners: Collection[str] = ()) -> str:
    """Return the last exception, or the program's own complaint; "" without a line.

    Without a line of a known kind, it is the last line. `banners` are masked lines of
    commands that worked.
    """
    lines = [
        line
        for line in clean_lines(text)
        if not is_frame(line) and not _is_banner(line, banners)
    ]
    if exceptions := [line for line in lines if _EXCEPTION.match(line)]:
        return exceptions[-1]
    for kind in _KINDS:
        if found := next(filter(kind.search, lines), ""):
            return found
    return lines[-1] if lines else ""


def read_surroundings(text: str, line: str) -> str:
    """Return the line that states the error with its neighbours, which may say more of it."""
    lines = clean_lines(text)
    at = lines.index(line) if line in lines else 0
    return "\n".join(lines[max(at - BEFORE, 0) : at + AFTER])


def is_error(line: str) -> bool:
    """Return whether a line is of a known kind, and not only the last one of a result."""
    return bool(_EXCEPTION.match(line) or _ANY_KIND.search(line))


def find_banners(text: str) -> Iterator[str]:
    """Yield the masked lines of a success that could be taken for an error."""
    if not _has_hint(text):
        return
    lines = filter(_ANY_KIND.search, filter(_has_hint, clean_lines(text)))
    found = (x for x in lines if not is_frame(x) and not _NOT_FOUND.search(x))
    yield from map(masks.mask_error, islice(found, MAX_BANNERS))


def is_frame(line: str) -> bool:
    """Return whether a line only leads to the error or away from it."""
    return bool(_NEVER.match(line))


def clean_lines(text: str) -> list[str]:
    """Return the lines with words, without colours, of the beginning and of the end."""
    plain = _ANSI.sub("", edges(text))
    lines = (_MARGIN.sub("", line).strip() for line in plain.splitlines())
    return [line[:MAX_LINE] for line in lines if line]


def edges(text: str) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


def _has_hint(text: str) -> bool:
    low = text.lower()
    return any(hint in low for hint in _HINTS)


def _is_banner(line: str, banners: Collection[str]) -> bool:
    if not banners or _NOT_FOUND.search(line):
        return False
    return masks.mask_error(line) in banners
