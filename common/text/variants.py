"""The ways in which a reader may take a text, one `Variant` for each.

A text can hide a word from a pattern: in another case or script, with quotes, escapes or
line breaks inside, as base64, with a space after each letter. Each variant undoes such
disguises and knows the place of each of its characters in the original text. An ordinary
text has one variant.
"""

from __future__ import annotations

import codecs
import html
import re
from binascii import Error, a2b_base64
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from common.text.visible import matching_form

# Limits of the decoding: runs of a text, encodings within encodings.
MAX_RUNS, MAX_DEPTH = 12, 3
MIN_HIDDEN = 6  # shorter texts are what ordinary words decode to
MAX_CACHED = 2_000  # characters of a text whose variants are cached
SHORT_LINE = 2  # words
MAX_CUT = 3  # bytes of a character that is cut off at the end of a run

Span = tuple[int, int]


@dataclass(frozen=True)
class Variant:
    """A text in lower case, with the index of each character in the original text.

    `encoded` is the place of what a decoded text comes from; `run` says that it is a run
    of base64 or of hexadecimal digits.
    """

    text: str
    origins: Sequence[int]
    encoded: Span | None = None
    run: bool = False

    def origin_span(self, start: int, end: int) -> Span:
        """Return the place in the original text of a match that is not empty."""
        return self.encoded or (self.origins[start], self.origins[end - 1] + 1)

    def replace(
        self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]
    ) -> Variant:
        """Replace what matches. The new characters have places spread over the match."""
        parts: list[str] = []
        origins: list[int] = []
        position = 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            text = new(match)
            parts += [self.text[position:start], text]
            origins.extend(self.origins[position:start])
            steps = max(len(text) - 1, 1)
            origins.extend(
                self.origins[start + step * (end - start - 1) // steps]
                for step in range(len(text))
            )
            position = end
        if not position:
            return self
        parts.append(self.text[position:])
        origins.extend(self.origins[position:])
        return Variant("".join(parts), origins, self.encoded)


# Escapes of programming languages, of URLs and of HTML.
_ESCAPE = re.compile(
    r"\\u\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})"
    r"|\\x([0-9a-fA-F]{2})|%([2-7][0-9a-fA-F])|\\([01][0-7]{2})|&#?\w{1,8};"
)

_ITEM_MARK = r"(?:[-*#+\u2022]{1,6}\s|\d{1,3}[.)]\s)"
_BREAK = r"[ \t\r]{0,80}\n"
# HTML tags between which words stand apart, and those that may stand within a word.
_BLOCK_TAG = (
    "p|div|br|hr|details|summary|pre|li|ul|ol|dl|dt|dd|t[dhr]|table|thead|tbody|h[1-6]"
    "|blockquote|section|article|header|footer|main|figure|figcaption|caption"
)
_INLINE_TAG = (
    "a|abbr|b|code|em|font|i|kbd|mark|s|samp|small|span|strong|sub|sup|u|var|wbr"
)
_IS_BLOCK = re.compile(rf"</?(?:{_BLOCK_TAG})\b")
_LAYOUT = re.compile(
    rf"```[\w+-]{{0,20}}|~~~[\w+-]{{0,20}}|\\\n[ \t]{{0,80}}|`|\*\*"
    rf"|</?(?:{_BLOCK_TAG}|{_INLINE_TAG})(?:\s[^<>\n]{{0,120}})?/?>|</?[a-z]{{1,10}} ?/?>|<!--|-->"
    rf"|(?<![ \t\r\n]){_BREAK}\s{{0,80}}(?:(?:{_ITEM_MARK}|>)\s{{0,80}})?"
    r"|(?<![ \t])[ \t]{2,}|[\n\t\r]"
)
_NEW_ITEM = re.compile(rf"\n\s{{0,80}}(?:{_ITEM_MARK}|\n)")
_HAS_LAYOUT = re.compile(r"[\n\t`\\*<~]|--|  ")

# Quotes, backslashes and carets inside a word; strings that are joined; lists of arguments.
_BROKEN_WORD = re.compile(
    r"[\"']\s{0,3}[+.]\s{0,3}[\"']|[\"']\s?,\s{0,3}(?=[\"'])|\$'"
    r"|(?<=\w)\$(?:[@*]|\{?ifs\}?|\{\w{0,9}\})|/\*.{0,40}?\*/|[\"'^\\]"
)
_HAS_BROKEN_WORD = re.compile(
    r"\w(?:''|\"\"|[\"^\\]|\$[@*{i]|/\*)[\w-]|[\"']\s{0,3}[+.]\s{0,3}[\"']|\$'"
    r"|[\"'] ?, {0,3}[\"']|(?<!\w)\\\w|\w'(?!(?:s|t|re|ll|ve|d|m)\b)\w|\w\$\{?ifs"
)
_LINE = re.compile(r"[^\n]+")
_LINE_MARK = re.compile(rf"[ \t]{{0,80}}(?:(?:{_ITEM_MARK}|>)[ \t]{{0,80}})?")
_HAS_SHORT_LINE = re.compile(
    r"(?<![^\n])[ \t]{0,80}\S+(?:[ \t]{1,80}\S+)?[ \t]{0,80}(?:\n|\Z)"
)
_LINE_BREAK = re.compile(r"\r?\n")
_INDENTED_BREAK = re.compile(r"(?<=\S)[ \t]{0,80}\n[ \t]{1,80}(?=\S)")
_SPACED_OUT = re.compile(r"(?<!\S)\S(?: {1,4}\S(?!\S)){4,2000}")
_SPACED = re.compile(r"(?<!\w)\w(?!\w)(?:[^\w\n]{1,4}\w(?!\w)|\n\w(?!\w)){3,300}")
_SEPARATOR = re.compile(r"\W+")
_LEET_WORD = re.compile(r"(?<![\w@$])[a-z0-9@$]{3,20}(?![\w@$])")
_IS_LEET = re.compile(r".*[a-z][013457$]+[a-z]|[013457$]+[a-z]{2}|[a-z]{2,}0$")
_LEET = str.maketrans("03457@$", "oeastas")

_BASE64_SIGN = "[A-Za-z0-9+/_-]"
_BASE64 = re.compile(rf"(?<!{_BASE64_SIGN}){_BASE64_SIGN}{{12,20000}}={{0,2}}")
_BASE64_LINES = re.compile(
    rf"(?<!{_BASE64_SIGN})(?:{_BASE64_SIGN}{{4,120}}[ \r]?\n ?){{1,300}}"
    rf"{_BASE64_SIGN}{{1,120}}={{0,2}}"
)
_BASE64_GROUP = re.compile(rf"{_BASE64_SIGN}{{1,76}}={{0,2}}")
MIN_GROUP = 8  # signs; shorter words are prose
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9A-Fa-f]{2}[ :,]?){8,10000}")
_HEX_GAP = re.compile(r"[ :,]|0x")
# Capital letters of Greek and of Cyrillic, whose small letters look like other ones.
_CAPITAL = re.compile("[\u0391-\u03a9\u0400-\u042f]")
_ROT13 = re.compile(r"\brot-?13\b", re.IGNORECASE)
_SPACES_AND_BREAKS = re.compile(r"\s+")
_SPACES = re.compile(r" +")


def find_variants(text: str) -> list[Variant]:
    """Return the variants of a text. The first one undoes case, script and layout only."""
    if len(text) <= MAX_CACHED:
        return list(_cached_variants(text))
    return _find_variants(text, depth=0)


# A lesson is read for dangers and for instructions, at several gates.
@lru_cache(maxsize=128)
def _cached_variants(text: str) -> tuple[Variant, ...]:
    return tuple(_find_variants(text, depth=0))


def _find_variants(text: str, depth: int) -> list[Variant]:
    form = matching_form(text)
    whole = _unescape(Variant(form.text, form.origins))
    found = _spellings(Variant(whole.text.lower(), whole.origins))
    if _CAPITAL.search(text):
        form = matching_form(text.lower())
        found += _spellings(Variant(form.text.lower(), form.origins))
    if depth < MAX_DEPTH:
        found += islice(_decode(whole, depth), MAX_RUNS)
    return found


def _spellings(lower: Variant) -> list[Variant]:
    plain = _without_layout(lower)
    return [plain, *_join_pieces(lower, plain)]


def _join_pieces(lower: Variant, plain: Variant) -> Iterator[Variant]:
    """Return variants that join what stands apart."""
    if _HAS_BROKEN_WORD.search(plain.text):
        yield plain.replace(_BROKEN_WORD, _join)
    if "\n" in lower.text:
        yield _without_layout(lower.replace(_LINE_BREAK, lambda _: ""))
        if _INDENTED_BREAK.search(lower.text):
            yield _without_layout(lower.replace(_INDENTED_BREAK, lambda _: ""))
        if _HAS_SHORT_LINE.search(lower.text):
            joined = _without_layout(_join_short_lines(lower))
            if joined.text != plain.text:
                yield joined
    if _SPACED_OUT.search(lower.text):
        yield _without_layout(lower.replace(_SPACED_OUT, _close_up))
    if _SPACED.search(lower.text):
        yield _without_layout(lower.replace(_SPACED, _collapse))
    if any(_IS_LEET.match(word) for word in _LEET_WORD.findall(plain.text)):
        yield plain.replace(_LEET_WORD, lambda word: _spell(word[0], "i"))
        yield plain.replace(_LEET_WORD, lambda word: _spell(word[0], "l"))


def _join_short_lines(variant: Variant) -> Variant:
    """Put a space for what stands between a line of one or two words and its neighbours."""
    parts: list[str] = []
    origins: list[int] = []
    end, was_short = 0, False
    for start, stop in _content_lines(variant.text):
        is_short = len(variant.text[start:stop].split()) <= SHORT_LINE
        if end and (is_short or was_short):
            parts.append(" ")
            origins.append(variant.origins[end])
            end = start
        parts.append(variant.text[end:stop])
        origins.extend(variant.origins[end:stop])
        end, was_short = stop, is_short
    return Variant("".join(parts), origins, variant.encoded)


def _content_lines(text: str) -> Iterator[Span]:
    """Yield the places of the lines that are not blank, without the marks of lists."""
    for line in _LINE.finditer(text):
        mark = _LINE_MARK.match(line[0])
        if line[0].strip():
            yield line.start() + (mark.end() if mark else 0), line.end()


def _unescape(variant: Variant) -> Variant:
    if not any(sign in variant.text for sign in "\\%&"):
        return variant
    return variant.replace(_ESCAPE, _character)


def _character(match: re.Match[str]) -> str:
    if digits := next(filter(None, match.groups()[:5]), None):
        point = int(digits, 16)
        return matching_form(chr(point)).text if point < 0x110000 else match[0]
    return chr(int(match[6], 8)) if match[6] else html.unescape(match[0])


def _without_layout(variant: Variant) -> Variant:
    """Drop marks of Markdown and HTML; put a space for a line break within a paragraph."""
    if not _HAS_LAYOUT.search(variant.text):
        return variant
    return variant.replace(_LAYOUT, _space)


def _space(match: re.Match[str]) -> str:
    mark = match[0]
    if mark[0] == "<":
        return " " if _IS_BLOCK.match(mark) else ""
    if mark[0] in "`~*\\" or mark == "-->":
        return ""
    return "\n" if _NEW_ITEM.search(mark) else " "


def _join(match: re.Match[str]) -> str:
    return " " if "," in match[0] or "ifs" in match[0] else ""


def _close_up(match: re.Match[str]) -> str:
    """Drop the space after each character; more spaces in a row end a word."""
    return _SPACES.sub(lambda gap: " " if len(gap[0]) > 1 else "", match[0])


def _collapse(match: re.Match[str]) -> str:
    """Join letters that stand apart; keep the signs that stand between them."""
    run = match[0]
    inner = Counter(_SEPARATOR.findall(run)).most_common(1)[0][0]

    def separate(found: re.Match[str]) -> str:
        if found[0] == inner:
            return ""
        if found[0].isspace():
            return " "
        return found[0].replace(" ", "") if inner == " " else found[0]

    joined = _SEPARATOR.sub(separate, run)
    return joined if " " in joined else _SEGMENT.sub(r" \g<0> ", joined)


def _spell(word: str, one: str) -> str:
    is_mixed = not (word.isdecimal() or word.isalpha())
    return word.translate(_LEET).replace("1", one) if is_mixed else word


def _decode(variant: Variant, depth: int) -> Iterator[Variant]:
    """Return variants of what base64, hexadecimal digits and ROT13 hide."""
    for start, end, text in islice(_hidden_texts(variant.text), MAX_RUNS):
        span = variant.origin_span(start, end)
        for inner in _find_variants(text, depth + 1):
            run = end - start < len(variant.text) or not _ROT13.search(variant.text)
            yield Variant(inner.text, inner.origins, encoded=span, run=run)


def _hidden_texts(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern, decode in _ENCODINGS:
        for match in pattern.finditer(text):
            if hidden := decode(match[0]):
                yield *match.span(), hidden
    for start, end in _base64_groups(text):
        if hidden := _from_base64(text[start:end]):
            yield start, end, hidden
    if _ROT13.search(text):
        yield 0, len(text), codecs.decode(_ROT13.sub("", text), "rot13")


def _base64_groups(text: str) -> Iterator[Span]:
    """Yield the places of groups of one length with a space between, and a shorter last."""
    groups: list[Span] = []
    for start, end in [match.span() for match in _BASE64_GROUP.finditer(text)]:
        length = end - start
        follows = groups and start - groups[-1][1] == 1 and text[start - 1].isspace()
        if follows and length == groups[0][1] - groups[0][0]:
            groups.append((start, end))
            continue
        if len(groups) > 1:
            is_last = follows and length < groups[0][1] - groups[0][0]
            yield groups[0][0], end if is_last else groups[-1][1]
        groups = [(start, end)] if length >= MIN_GROUP else []
    if len(groups) > 1:
        yield groups[0][0], groups[-1][1]


def _from_base64(run: str) -> str:
    signs = _SPACES_AND_BREAKS.sub("", run).rstrip("=")
    signs = signs.replace("-", "+").replace("_", "/")
    try:
        return _as_text(a2b_base64(signs[: len(signs) // 4 * 4 + _rest(signs)] + "=="))
    except Error:
        return ""


def _rest(signs: str) -> int:
    """One sign of the last group alone holds no byte."""
    return len(signs) % 4 if len(signs) % 4 > 1 else 0


def _from_hexadecimal(run: str) -> str:
    digits = _HEX_GAP.sub("", run)
    return _as_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _as_text(data: bytes) -> str:
    """Return what a person can read in the bytes, or nothing."""
    encoding = "utf-16-le" if data[1:8:2] == b"\0" * len(data[1:8:2]) else "utf-8"
    text = data.decode(encoding, errors="ignore")
    if len(text) < MIN_HIDDEN or not "".join(text.split()).isprintable():
        return ""
    return text if len(text.encode(encoding)) >= len(data) - MAX_CUT else ""


_ENCODINGS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (_BASE64_LINES, _from_base64),
    (_BASE64, _from_base64),
    (_HEX, _from_hexadecimal),
)

# Words that are found in letters without spaces, the longest first.
_SEGMENT = re.compile(
    "|".join(
        sorted(
            (Path(__file__).parent / "danger/words/segments.txt").read_text().split(),
            key=len,
            reverse=True,
        )
    )
)
