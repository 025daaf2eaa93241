"""Find secrets that a sentence tells, in twenty languages: `the password is x`, `密码是 x`.

`said_words.txt` has the words for passwords, tokens and keys, with `*` where a compound or an
inflection goes on and `<` where none may, and the words that join them to a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal

from common.text.secret_rules import values
from common.text.secret_rules.spans import (
    Span,
    has_digit,
    has_letter,
    is_random,
    is_slug,
)
from common.text.text_tables import read_groups

_WORDS = read_groups(Path(__file__).with_name("said_words.txt"))
_COPULAS, _TO, _OF = _WORDS["copulas"], _WORDS["to"], _WORDS["of"]
_PARTICLES = tuple(_WORDS["joined to the label"])
# Letters that need no blank between words.
UNSPACED = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_STOPS = r"\u3001\u3002\uff0c\uff1b\uff01\uff1f\u060c\u061b\u061f\u0964"
_QUOTES = r"\"'`\u2018-\u201f\xab\xbb\u2039\u203a\u300c-\u300f"
_HIDDEN = r"\u200b-\u200f\u202a-\u202e\u2066-\u2069"
_CHARACTER = rf"[^\s<>{UNSPACED}{_STOPS}{_QUOTES}{_HIDDEN}\uff1a\uff1d]"
_PIECE = re.compile(
    rf"(?P<between>[\s{_STOPS}{_QUOTES}{_HIDDEN}]{{0,8}})"
    r"(?:(?P<separator>[:=\uff1a\uff1d]{1,2}|(?:->|=>|[-\u2012-\u2015\u2192])(?=\s)"
    r"|(?:(?:has been|have been|was|is|got) )?(?:changed|set|reset|updated|rotated) to\b)"
    rf"|(?P<unspaced>[{UNSPACED}]{{1,32}})|(?P<word>{_CHARACTER}{{1,256}}))"
)
_COLONS = {0xFF1A: ":", 0xFF1D: "="}
_UNSPACED = re.compile(rf"[{UNSPACED}{_STOPS}]")
_NO_START = re.compile(r"[a-z0-9_\xdf-\u1fff-]\Z|\w:\Z|(?:---|===) \Z")
_NO_UNSPACED_START = re.compile(rf"[{UNSPACED}]\Z")
_INFLECTION = re.compile(r"[^\W\d_]{1,6}")
_LABEL_END = re.compile(
    rf"(?<=[{UNSPACED}])|\Z|,\s|[\s:=*)\]{_QUOTES}{_HIDDEN}{_STOPS}{UNSPACED}\uff1a\uff1d]"
)
_CLOSE = re.compile(rf"[*_{_QUOTES})\],]{{1,3}}")
_OPENED = re.compile(rf"[{_QUOTES}]\Z")
_END = re.compile(r"[.;!?|\u2026\u3002\uff1b\uff01\uff1f\u061b\u061f\u0964]")
_SPECIAL = re.compile(r"[!@#$%^&*+=?~]")
_AMOUNT = re.compile(r"\d+(?:[.,:/-]\d*)+[^\W\d_]{0,3}")
_CHANGES = re.compile(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])", re.IGNORECASE)
# What names a thing of a machine: a hash, a UUID, an address, a version, a constant.
_IDENTIFIER = re.compile(
    r"[0-9a-f]{7,40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)*|v?\d+(?:\.\d+)+\S*|[A-Z0-9]+(?:_[A-Z0-9]+)+|[@#]\S*|(?:\w+\+)+\w+|.*[/\\(\[{].*"
)
# The public beginning of a key of this service, an algorithm, an amount, a platform.
_NAME = re.compile(
    r"am_[\w-]{8}|(?:[A-Z]{2,}-)+[A-Z]*\d+(?:-\d+)?|\d+[a-z]{1,4}|x86_64"
)
_LONG_HEX = re.compile(r"[0-9a-f]{12,39}")
MOST_PIECES, STRONG_LENGTH = 10, 8
MAX_LABELS = 2_000  # of one text
# `x is the password`, `use x as the password`: the value stands before the label.
_EARLIER = re.compile(
    rf"(?<!{_CHARACTER})(?P<secret>{_CHARACTER}{{8,64}})[{_QUOTES}]?(?:\s(?:is|ist|est|es|è|é|är|er|jest|je|to|(?P<use>as|als|comme|como|come|som|jako|olarak|как|як|בתור))\s|\s?(?:[是为がは]|(?P<named>という)))(?:[^\s.;:,]{{1,20}}\s?){{0,3}}\Z"
)
EARLIER = 120
# The word `pass` after a user is a password: `login bob pass x`.
_ACCOUNT = re.compile(
    r"\b(?:user(?:name)?|login|account)[ \t:=]{1,3}\S{1,64}[ \t,/]{1,3}\Z",
    re.IGNORECASE,
)
ACCOUNT = 96
_LOGIN = re.compile(
    r"\b(?:credentials?|creds|logins?|log ?in|sign ?in|login data|zugangsdaten|account)\b[\s:=]{1,3}(?:(?:is|are|as|with|using|sind|mit)\s{1,2})?"
    r"[\"'`(]?(?P<name>[\w.@+-]{2,64})\s{0,2}(?P<between>[:/])\s{0,2}(?P<open>[\"'`])?(?P<secret>[^\s\"'`<>),;]{4,128})",
    re.IGNORECASE,
)
_PATH_START = re.compile(
    r"main|master|develop|trunk|feat|feature|fix|bugfix|hotfix|release|chore|docs|test|refactor"
    r"|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}",
)
_LOGIN_HINTS = re.compile(r"credential|creds|log ?in|sign|zugangsdaten|account")


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the passwords in prose."""
    labels = islice(_find_labels(lowered), MAX_LABELS)
    for label, start, end in labels:
        if span := _find_after(text, label, start, end) or _find_before(
            text, label, start
        ):
            yield span
    if _LOGIN_HINTS.search(lowered):
        for match in _LOGIN.finditer(text):
            value, start = _trim(match["secret"]), match.start("secret")
            is_path = text[match.end("name") :].startswith(f"/{value}")
            if is_path and is_slug(value) and _PATH_START.fullmatch(match["name"]):
                continue  # a branch, a repository
            if len(value) >= 5 and _is_said(value, quoted=bool(match["open"])):
                yield Span(start, start + len(value), "password")


@dataclass(frozen=True)
class _Label:
    """A word of the table; `*` stands for letters before or after it."""

    word: str
    kind: str
    has_ends: bool
    has_starts: bool
    is_foreign: bool

    @property
    def no_start(self) -> re.Pattern[str]:
        return _NO_UNSPACED_START if _UNSPACED.match(self.word) else _NO_START

    @property
    def shown(self) -> str:
        return {"tokens": "token", "keys": "secret"}.get(self.kind, "password")


@cache
def _labels() -> tuple[_Label, ...]:
    groups = [
        group for group in _WORDS if group.endswith(("passwords", "tokens", "keys"))
    ]
    return tuple(
        _Label(
            word=entry.strip("<*"),
            kind=group.rpartition(" ")[2],
            has_starts=entry.startswith("*") or bool(_UNSPACED.match(entry)),
            has_ends=entry.endswith("*"),
            is_foreign=group.startswith("foreign"),
        )
        for group in groups
        for entry in _WORDS[group]
    )


@cache
def _ascii_labels() -> tuple[_Label, ...]:
    return tuple(label for label in _labels() if label.word.isascii())


def _find_labels(lowered: str) -> Iterator[tuple[_Label, int, int]]:
    for label in _ascii_labels() if lowered.isascii() else _labels():
        start = lowered.find(label.word)
        while start >= 0:
            end = start + len(label.word)
            if label.has_starts or not label.no_start.search(
                lowered, max(start - 4, 0), start
            ):
                if label.has_ends and (more := _INFLECTION.match(lowered, end)):
                    end = more.end()
                if _LABEL_END.match(lowered, end):
                    yield label, start, end
            start = lowered.find(label.word, end)


def _find_after(text: str, label: _Label, start: int, end: int) -> Span | None:
    """Return the value of a label, in the same sentence."""
    sentence, place = _Sentence(label), end
    if label.word == "pass" and not _ACCOUNT.search(
        text, max(start - ACCOUNT, 0), start
    ):
        sentence.follows = "word"
    if closed := _CLOSE.match(text, place):
        if label.kind == "keys":
            return None  # the name of a field
        place, sentence.follows = closed.end(), "word"
    for _ in range(MOST_PIECES):
        piece = _PIECE.match(text, place)
        if not piece:
            return None
        # A line may be wrapped behind a joiner, or before a copula.
        is_wrapped = sentence.follows == "joiner" or (
            not piece["separator"] and _is_joiner(piece) and piece[0].strip().islower()
        )
        lines = piece["between"].count("\n")
        if lines > 1 or (lines and not is_wrapped):
            return None
        place = piece.end()
        if _is_joiner(piece):
            sentence.join()
            sentence.has_particle = bool(piece["unspaced"])
            continue
        quoted = _OPENED.search(piece["between"]) is not None
        value = _trim(piece["word"] or "")
        if (
            value
            and sentence.has_value(value, quoted=quoted)
            and not (sentence.follows == "to" and _is_joiner_next(text, place))
        ):
            first = piece.start("word")
            return Span(first, first + len(value), label.shown)
        sentence.read(piece["word"] or piece["unspaced"])
        if _END.match(text, place - 1) or _END.match(text, place):
            return None
    return None


def _is_joiner(piece: re.Match[str]) -> bool:
    if piece["unspaced"]:
        return piece["unspaced"].endswith(_PARTICLES)
    return bool(piece["separator"]) or piece["word"].lower() in _COPULAS


def _is_joiner_next(text: str, place: int) -> bool:
    piece = _PIECE.match(text, place)
    return piece is not None and _is_joiner(piece)


def _find_before(text: str, label: _Label, end: int) -> Span | None:
    """Return the value of a password that stands before its label: `x is the password`."""
    before = max(end - EARLIER, 0)
    match = _EARLIER.search(text, before, end)
    if not match or label.kind != "passwords":
        return None
    value = match["secret"]
    is_named = bool(match["use"] or match["named"])
    if not _is_said(value, quoted=False) or not (
        _is_unlike_words(value)
        or (is_named and (_is_mixed(value) or _has_digit_inside(value)))
    ):
        return None
    return Span(*match.span("secret"), "password")


@dataclass
class _Sentence:
    """What was read between a label and its value."""

    label: _Label
    words: int = 0
    follows: Literal["label", "joiner", "to", "word"] = "label"
    is_of: bool = False
    has_particle: bool = False  # which also joins what is said about the label

    def join(self) -> None:
        self.follows = "joiner"

    def read(self, word: str) -> None:
        self.is_of = self.is_of or (not self.words and word.lower() in _OF)
        self.words += 1
        self.follows = "to" if word.lower() in _TO else "word"
        if word.endswith(":"):
            self.join()

    def has_value(self, value: str, *, quoted: bool) -> bool:
        """Return whether a word is the value of the label.

        What a copula or a separator joins to a label may be any password. What stands
        further on is a value only if it can hardly be a word.
        """
        kind, follows = self.label.kind, self.follows
        if not _is_said(value, quoted):
            return False
        if follows == "label":
            is_named = kind == "passwords" or not is_slug(value)
            if kind == "keys":
                return self.label.is_foreign and _is_unlike_words(value)
            return len(value) >= 6 and is_named
        is_joined = follows == "joiner" or (follows == "to" and kind == "passwords")
        is_near = self.words == (follows == "to") or (self.is_of and follows != "to")
        is_near = is_near or self.label.is_foreign
        if kind == "keys" and not is_near:
            return False
        if is_joined and is_near and kind != "keys":
            is_plain = is_slug(value) and not _SPECIAL.search(value)
            return not (self.has_particle and is_plain)
        if kind == "tokens" and _is_long_hex(value):
            return True
        is_mixed = kind == "passwords" and _is_mixed(value)
        if self.label.word == "pass" or not (is_mixed or _is_unlike_words(value)):
            return False
        return is_joined or kind == "passwords"


def _trim(value: str) -> str:
    value = value.rstrip(".,;:?)]}").removesuffix("**")  # the end of bold text
    return value[:-1] if value.endswith("!") and value[:-1].isalpha() else value


def _is_said(value: str, quoted: bool) -> bool:
    """Return whether a word of a sentence is a password: mixed characters, no identifier."""
    is_letters = value.isalpha() and is_random(value)
    if not is_letters and not values.is_secret(value, "password", "bare"):
        return False
    if (
        values.is_technical(value)
        or _NAME.fullmatch(value)
        or value[0] in "{([<"
        or "${" in value
    ):
        return False
    if "](" in value or _AMOUNT.fullmatch(value):
        return False
    if value.isdigit():
        return len(value) >= 4 if quoted else len(value) >= 6
    return len(value) >= 4 and (
        has_digit(value)
        or is_random(value, least=8)
        or _SPECIAL.search(value[1:]) is not None
    )


def _is_unlike_words(value: str) -> bool:
    """Return whether a word mixes letters and digits as no name does."""
    if not has_letter(value) or _IDENTIFIER.fullmatch(value):
        return False
    if len(value) < STRONG_LENGTH or not has_digit(value):
        return False
    is_mixed = not (value.islower() or value.isupper())
    return (
        (is_mixed and "_" in value)
        or bool(_SPECIAL.search(value))
        or len(_CHANGES.findall(value)) >= 3
    )


def _is_long_hex(value: str) -> bool:
    return bool(_LONG_HEX.fullmatch(value)) and has_letter(value) and has_digit(value)


def _is_mixed(value: str) -> bool:
    """Return whether a word has an underscore, a digit, and letters of both cases."""
    has_cases = not (value.islower() or value.isupper())
    return has_cases and "_" in value and has_digit(value)


def _has_digit_inside(value: str) -> bool:
    is_name = _IDENTIFIER.fullmatch(value)
    return not is_name and len(_CHANGES.findall(value)) >= 2


def space(text: str) -> str:
    """Return the text with blanks for what is written without blanks, in the same length.

    The rules for ASCII then see where a word of it begins and ends.
    """
    if text.isascii():
        return text
    return _UNSPACED.sub(" ", text.translate(_COLONS))
