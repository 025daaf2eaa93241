"""Find what the checks of a text cannot read, so that a person reads it first.

It is not said what hidden words say: that they are hidden is enough. Nobody writes a rule
with letters of other alphabets inside its words, with characters without a visible form,
with a space after each letter, or in an encoding.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from functools import cache

from common.text.text_spans import TextSpan
from common.text.text_tables import WORDS, read_lines
from common.text.visible import CONCEALING, CONTROLS, ORDINARY, matching_form

MAX_PROSE = 20_000  # characters that tell the language
MIN_ENCODED = 20  # characters of a run that may be an encoding
MIN_READABLE = 0.9  # the share of ASCII in a decoded sentence
MIN_FOREIGN = 2  # words of another language; a technical text has names
MIN_WORDS = 3  # of a sentence

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        # Emoji and some scripts have one or two of the ordinary invisible characters.
        rf"[{CONCEALING}{CONTROLS}]|[{ORDINARY}]{{3,}}",
        rf"(?:[!-~][{ORDINARY}]+){{2,400}}[!-~]",
        # Phonetic, enclosed, mathematical and squared letters.
        "[\u0250-\u02af\u1d00-\u1dbf\u249c-\u24e9\U0001d400-\U0001d7cb\U0001f110-\U0001f189]{3,400}",
        "(?:[A-Za-z][\u0300-\u036f\u20d0-\u20ff]{1,40}){4,400}",
        r"(?<!\S)(?:[^\W\d_][ \t\n]{1,4}){7,2000}[^\W\d_](?!\S)",
        r"(?:(?:\\x|%)(?:[46][1-9a-f]|[57][0-9a])|\\u00[4-7][0-9a-f]|&#\d{2,3};)"
        r"(?:.{0,12}?(?:(?:\\x|%)(?:[46][1-9a-f]|[57][0-9a])|\\u00[4-7][0-9a-f]|&#\d{2,3};)){3,400}",
    )
)
# Texts in Chinese, Japanese and Korean have full-width letters.
_WIDE = re.compile("[\uff21-\uff3a\uff41-\uff5a]{3,400}")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"[^\W\d_]{3,40}")
_RUN = re.compile(
    rf"(?<![\w+/=.-])[A-Za-z0-9+/_-]{{{MIN_ENCODED},}}={{0,2}}"
    rf"(?:\s[A-Za-z0-9+/_-]{{{MIN_ENCODED},}}={{0,2}})*"
)
_CODE = re.compile(r"```.{0,4000}?```|`[^`\n]{1,200}`|\"[^\"\n]{1,60}\"", re.DOTALL)
_PROSE = re.compile(r"(?<![\w./:@$#\\-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w/:@\\-])")
_LOANWORDS = frozenset(["café", "naïve", "résumé", "façade", "niño"])


def find_hidden(text: str) -> Iterator[TextSpan]:
    """Yield the places of words that cannot be read as they are written."""
    for pattern in _PATTERNS:
        yield from (match.span() for match in pattern.finditer(text))
    if not text.isascii():
        if not _CJK.search(text):
            yield from (match.span() for match in _WIDE.finditer(text))
        yield from (m.span() for m in _WORD.finditer(text) if _is_mixed(m[0]))
    yield from (m.span() for m in _RUN.finditer(text) if _is_encoded(m[0]))


def _is_mixed(word: str) -> bool:
    """Whether a word has letters of two alphabets. A Greek letter before it is a symbol."""
    if word.isascii() or _CJK.search(word):
        return False
    first = 1 if _script(word[0]) in ("GREEK", "MICRO") else 0
    letters = filter(str.isalpha, word[first:])
    return len({_script(letter) for letter in letters}) > 1


def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").partition(" ")[0]


def _is_encoded(run: str) -> bool:
    """Whether a run of letters and digits is the base64 or the hexadecimal form of a text."""
    plain = "".join(run.split())
    try:
        data = bytes.fromhex(plain)
    except ValueError:
        plain = plain.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
        if plain.islower() or plain.isupper() or (plain.isalpha() and " " in run):
            return False
        try:
            data = b64decode(plain[: len(plain) // 4 * 4])
        except binascii.Error:
            return False
    data = data.replace(b"\0", b"")
    readable = sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in data)
    return len(data) > 5 and readable >= MIN_READABLE * len(data)


def is_foreign(text: str) -> bool:
    """Whether the prose of a text is in another language than English.

    Code, names and paths are no prose.
    """
    prose = _CODE.sub(" ", text[:MAX_PROSE])
    letters = [letter for letter in prose if letter.isalpha()]
    other = sum(_script(letter) != "LATIN" for letter in letters if ord(letter) > 127)
    if other >= MIN_FOREIGN and 4 * other > len(letters):
        return True
    words = set(_PROSE.findall(prose.lower()))
    english = len(words & _english_words())
    foreign = {
        word
        for word in words
        if matching_form(word).text in _foreign_words()
        or not (word.isascii() or word in _LOANWORDS or _is_mixed(word))
    }
    least = MIN_FOREIGN if english or len(words) < MIN_WORDS else 1
    return len(foreign) >= max(least, 2 * english + 1)


@cache
def _english_words() -> frozenset[str]:
    return frozenset(" ".join(read_lines(WORDS / "english.txt")).split())


@cache
def _foreign_words() -> frozenset[str]:
    """Return frequent words of other languages, without accents, that are not English."""
    return frozenset(" ".join(read_lines(WORDS / "foreign.txt")).split())
