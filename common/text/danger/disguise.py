"""Find where a text hides how its words are written.

Nobody writes a rule with letters of other alphabets inside its words, with characters
without a visible form between them, with capitals at odd places, or with one word of a
sentence on each line. Whatever such words say, a person reads them before they count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from common.text.danger.word_tables import read_lines
from common.text.visible import ORDINARY, look_alikes

Span = tuple[int, int]

MIN_MIXED_WORDS = 2  # of two scripts; a name such as Δtime has one
MIN_INVISIBLE = 2  # a copied word can have one soft hyphen
MIN_ODD = 3  # points: LaTeX and PyPI have one each
MIN_BREAKS = 3  # a wrapped paragraph has one or two hyphens
MIN_APART = 8  # letters that stand alone
MIN_SPLIT, MIN_FUNCTION_WORDS = 5, 2  # words a line each, and those that only prose has
MAX_CHARACTERS = 20_000

_WORD = re.compile(r"[^\W\d_]{4,40}")
_INVISIBLE = re.compile(rf"(?<=[!-~])[{ORDINARY}]+(?=[!-~])")
_ACCENTS = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
_MANY_ACCENTS = re.compile(
    rf"(?:[A-Za-z]{_ACCENTS}{{1,40}}){{4,400}}|[\u00c0-\u024f\u1e00-\u1eff]{{4,400}}"
)
# Phonetic, enclosed, mathematical and squared letters.
_STYLED_LETTERS = (
    "\u0250-\u02af\u1d00-\u1dbf\u249c-\u24e9\U0001d400-\U0001d7cb\U0001f110-\U0001f189"
)
_STYLED = re.compile(f"[{_STYLED_LETTERS}]{{3,400}}")
# Texts in Chinese, Japanese and Korean have full-width letters.
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WIDE_OR_STYLED = re.compile(f"[{_STYLED_LETTERS}\uff21-\uff3a\uff41-\uff5a]{{3,400}}")
# A Greek letter before a Latin word is a symbol, as in Δtime.
_SYMBOLS = ("GREEK", "MICRO")

# Words with a capital after a small letter, or a small letter after two capitals.
_ODD_CANDIDATE = re.compile(
    r"(?<![\w+/=.-])[A-Za-z]{0,24}(?:[a-z][A-Z]|[A-Z]{2}[a-z])[A-Za-z]{0,24}(?![\w+/=])"
)
_ODD_WORD = re.compile(r"[a-z]{2,}[A-Z]|.*(?:[a-z][A-Z]){2}.*|.*(?:[A-Z][a-z]){2}.*")
_HUMP = re.compile(r"[A-Z]?[a-z]+|[A-Z]")

_APART = re.compile(
    rf"(?<!\S)(?:[^\W\d_][ \t\n]{{1,4}}){{{MIN_APART - 1},2000}}[^\W\d_](?!\S)"
)
# Words that break inside: at a tab or another control, a hyphen or backslash before the
# next line, an empty tag or a comment of HTML.
_BREAKS = re.compile(
    r"(?<=[A-Za-z])(?:[\t\x0b\x0c\x85](?=[a-z])|(?:[-\u2010\u00ad]\r?\n[ \t]{0,8}| ?\\\r?\n"
    r"|<!--[^>]{0,40}-->|<(?P<tag>[a-z]{1,8})></(?P=tag)>|</?wbr ?/?>)(?=[A-Za-z]))"
)
_MARKS = re.compile(
    r"(?:^|(?<=[\n\u2028\u2029]))[ \t]{0,40}(?:[-*+>|\u2022]|\d{1,3}[.)])(?=[ \t])"
)
# Five words with other white space than one space between them.
_ODD_GAPS = re.compile(
    rf"(?<!\S)\S{{1,60}}(?:(?:[^\S ]|\s\s)\s{{0,80}}\S{{1,60}}){{{MIN_SPLIT - 1}}}"
)
_TOKEN = re.compile(r"\S+")
_EDGES = "\"'`.,;!?*"


def find_disguises(text: str) -> Iterator[Span]:
    """Yield the places of hidden words. The place of several is from the first to the last."""
    text = text[:MAX_CHARACTERS]
    if not text.isascii():
        yield from _find_foreign_letters(text)
        yield from _outer_span([*_spans(_INVISIBLE, text)], MIN_INVISIBLE)
        yield from _spans(_MANY_ACCENTS, text)
    yield from _find_odd_capitals(text)
    yield from _spans(_APART, text)
    yield from _outer_span([*_spans(_BREAKS, text)], MIN_BREAKS)
    yield from _find_split_sentences(text)


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    return (match.span() for match in pattern.finditer(text))


def _outer_span(places: Sequence[Span], least: int) -> Iterator[Span]:
    if len(places) >= least:
        yield places[0][0], places[-1][1]


def _find_foreign_letters(text: str) -> Iterator[Span]:
    """Find Latin words with letters of other alphabets, and words of styled letters."""
    yield from _spans(_STYLED if _CJK.search(text) else _WIDE_OR_STYLED, text)
    mixed = [match.span() for match in _WORD.finditer(text) if _is_mixed(match[0])]
    yield from _outer_span(mixed, MIN_MIXED_WORDS)


def _is_mixed(word: str) -> bool:
    if word.isascii() or not any(letter.isascii() for letter in word):
        return False
    return any(
        letter in _similar_letters() and not _is_symbol(place, letter)
        for place, letter in enumerate(word)
    )


def _is_symbol(place: int, letter: str) -> bool:
    return place == 0 and unicodedata.name(letter, "").startswith(_SYMBOLS)


@cache
def _similar_letters() -> frozenset[str]:
    """Return the letters of other alphabets that look like a Latin one."""
    return frozenset(
        letter
        for letter, target in look_alikes().items()
        if letter.isalpha()
        and target.isalpha()
        and not unicodedata.name(letter, "").startswith("LATIN")
    )


def _find_odd_capitals(text: str) -> Iterator[Span]:
    """Find words such as `cUrL` and `forcE`. A word such as `tHe` counts twice."""
    points = {
        match: found
        for match in _ODD_CANDIDATE.finditer(text)
        if (found := _oddness(match[0]))
    }
    if sum({match[0]: found for match, found in points.items()}.values()) >= MIN_ODD:
        yield from _outer_span([match.span() for match in points], 1)


def _oddness(word: str) -> int:
    if word.lower() in _function_words():
        return 2
    return 1 if _ODD_WORD.fullmatch(word) and not _is_camel_case(word) else 0


def _is_camel_case(word: str) -> bool:
    lengths = [len(hump) for hump in _HUMP.findall(word)]
    return min(lengths) > 1 and max(lengths) > 2


def _find_split_sentences(text: str) -> Iterator[Span]:
    """Find sentences whose words stand one a line, or with tabs or many spaces between."""
    plain = _MARKS.sub(lambda mark: " " * len(mark[0]), text)
    if not _ODD_GAPS.search(plain):
        return
    run: list[re.Match[str]] = []
    for token in _TOKEN.finditer(plain):
        if run and plain[run[-1].end() : token.start()] == " ":
            yield from _split_sentence(run[:-1])
            run = []
        run.append(token)
    yield from _split_sentence(run)


def _split_sentence(words: Sequence[re.Match[str]]) -> Iterator[Span]:
    if len(words) < MIN_SPLIT or any("://" in word[0] for word in words):
        return
    found = {word[0].strip(_EDGES) for word in words} & _function_words()
    if len(found) >= MIN_FUNCTION_WORDS:
        yield words[0].start(), words[-1].end()


@cache
def _function_words() -> frozenset[str]:
    return frozenset(word for word in read_lines("english") if len(word) > 1)
