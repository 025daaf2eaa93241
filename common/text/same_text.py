# ruff: noqa: RUF001 (the marks of other scripts are meant)
"""Decide whether two texts say the same in the same words, in any language.

Texts that say opposite things can have similar vectors, and only a person or a language
model knows which difference matters. So every word and every mark counts, in its order. What
does not count: spaces and line breaks, the Unicode form, case (but of flags and in quotes),
the bullets of a list, the form of quotes and dashes, a mark at the very end, and articles and
politeness of a language that is known here.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from common.text.normalise import normalise
from common.text.visible import drop_invisible

_QUOTE = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"")
# A list; `- 5` may be a number, `+ x` a line of a difference, `# x` a comment.
_BULLET = re.compile(r"^[ \t]*[-*•][ \t]+(?!\d)", re.MULTILINE)
_SAME_MARKS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("“”„‟«»「」『』", '"'),
        **dict.fromkeys("‐‑‒–—", "-"),
    }
)
_BEFORE_NAME = frozenset({"the", "a", "an"})
_AFTER_NAME = frozenset({"to", "and", "or", "is", "of", "in", "from", "with", "as"})
_COUNTS = ("a few", "a little")  # few and little are less than these
_PARTING = ".,;:!?…)。、，；：？！؟،؛।"
# A mark at the end of a text, behind a word that is no name of a program.
# A question is no statement: its mark stays.
_LAST_MARK = re.compile(r"(?<=\w)[.!…。！।]+\Z")
# A quoted word, a path, a setting, a name with a capital inside (`getUser`, `APP_Key=On`), or a
# form (`%H:%M`, `yyyy-MM-dd`, `[A-Z]+`, `+X`, `$HOME`, `<Button>`).
_EXACT = re.compile(
    r"[`\"/\\_=%$<@^\[]|\w:\w|\w\+|\+\w|[a-z]\w{0,8}[A-Z]|\w\.[A-Z]|[a-z]-[A-Z]|[A-Z]-[a-z]"
)
# A key (`press G`) and, behind a number, a unit (`5 Mb`).
_KEY = re.compile(r"[B-HJ-Zb-hj-z]\W*")
_UNIT = re.compile(r"[kmgtp]i?b(?:ps|/s)?\W*", re.IGNORECASE)
_LAST_NAME = re.compile(r"[\w)]{0,60}[._(`/\\][\w)]{1,60}[!?]\Z")
_JOINT = "\x00"  # stands for a space inside a quote
# Raised, lowered and circled digits and fractions are numbers of their own: 10² is not 102.
_OWN_NUMBER = re.compile("([²³¹¼-¾⁰-₉⅐-↏①-⓿❶-➓])")


@dataclass(frozen=True)
class Language:
    """The empty words of a language, and words that tell that a text is in it.

    `free` words say nothing. An `articles` word may be left out, but not exchanged: it has a
    gender or a number (German `der Nutzer`, `die Nutzer`).
    """

    free: frozenset[str]
    articles: frozenset[str]
    telling: frozenset[str]

    @cached_property
    def words(self) -> frozenset[str]:
        return self.free | self.articles | self.telling


NO_LANGUAGE = Language(frozenset(), frozenset(), frozenset())


def _read_languages() -> list[Language]:
    """Read a line of each language: `code: free words / articles | telling words`."""
    text = (Path(__file__).parent / "empty_words.txt").read_text(encoding="utf-8")
    parts = (re.split(r"[:/|]", line)[1:] for line in text.splitlines())
    return [Language(*(frozenset(part.split()) for part in each)) for each in parts]


_LANGUAGES = _read_languages()


@dataclass(frozen=True)
class TextWord:
    """A word with its marks as it is compared; `may_be_empty` says that it may be an article.

    A capital letter inside a sentence makes a name (`plan A`), and an article has a word
    after it (German `schalte die Pumpe ein`).
    """

    text: str
    may_be_empty: bool = False


def read_words(text: str) -> list[TextWord]:
    """Return the words of a text in their order; quoted words are one word."""
    plain = _BULLET.sub("", fold_form(text))
    chunks = _QUOTE.sub(_join_quote, plain).split()
    words: list[TextWord] = []
    starts, is_loud = True, plain.isupper()
    before = ""
    folded = _fold_case(chunks)
    for chunk, following, word in zip_longest(chunks, chunks[1:], folded, fillvalue=""):
        may_start = chunk.islower() or starts or is_loud
        is_count = f"{chunk} {following}".lower().startswith(_COUNTS)
        # `the a record`, `rename a to b`: a name.
        is_name = chunk == "a" and (before in _BEFORE_NAME or following in _AFTER_NAME)
        starts, before = chunk.endswith(tuple(_PARTING)), chunk.lower()
        is_kept = starts or is_count or is_name or not following
        may_be_empty = may_start and not is_kept
        words.append(TextWord(word, may_be_empty))
    return words


def fold_form(text: str) -> str:
    """Return a text in one form: of Unicode, quotes and dashes, without a mark at its end."""
    text = drop_invisible(text)
    if not text.isascii():
        parts = _OWN_NUMBER.split(text)
        parts[::2] = map(normalise, parts[::2])
        text = "".join(parts).translate(_SAME_MARKS)
    text = text.rstrip()
    last = text[-200:].split()[-1:]
    if last and _LAST_NAME.fullmatch(last[0]):
        return text
    return _LAST_MARK.sub("", text)


def _join_quote(match: re.Match[str]) -> str:
    return _JOINT.join(match[0].split())


def _fold_case(words: Sequence[str]) -> list[str]:
    """Lower words, but for those whose case is their meaning: a flag, a path, a name, a unit."""
    return [
        word if _is_exact(word, before) else word.lower()
        for before, word in zip(["", *words], words, strict=False)
    ]


def _is_exact(word: str, before: str) -> bool:
    if word.startswith("-") or _EXACT.search(word) or _KEY.fullmatch(word):
        return True
    return before[-1:].isdigit() and bool(_UNIT.fullmatch(word))


def join_words(text: str) -> str:
    """Return the words of a text in one string, so that a part of it is a substring."""
    words = (word.text.rstrip(_PARTING) for word in read_words(text))
    return " ".join(["", *words, ""])


def hash_text(text: str) -> str:
    """Hash a text without its case, spacing, Unicode form and the mark at its end."""
    chunks = _QUOTE.sub(_join_quote, fold_form(text)).split()
    folded = " ".join(_fold_case(chunks))
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Whether two texts have the same words in the same order, but for empty words."""
    return find_difference(one, other) is None


def find_difference(one: str, other: str) -> str | None:
    """Return what two texts do not share, or None if they say the same.

    The form is `words: left / right`, or `order: …` if only the order differs.
    """
    left, right = read_words(one), read_words(other)
    if _are_equal(left, right):
        return None
    counts = [Counter(word.text for word in side) for side in (left, right)]
    sides = [_quote_first(counts[0] - counts[1]), _quote_first(counts[1] - counts[0])]
    if not any(sides):
        return "order: the same words stand in another order"
    return f"words: {sides[0] or 'nothing'} / {sides[1] or 'nothing'}"


def _quote_first(words: Counter[str]) -> str:
    return ", ".join(word.replace(_JOINT, " ").strip()[:60] for word in [*words][:3])


def _are_equal(left: list[TextWord], right: list[TextWord]) -> bool:
    if [word.text for word in left] == [word.text for word in right]:
        return True
    # A word that only one text has tells nothing: `die` is an article or a verb.
    shared = {word.text for word in left} & {word.text for word in right}
    language = _find_language(shared)
    left, right = (
        [w for w in side if not (w.may_be_empty and w.text in language.free)]
        for side in (left, right)
    )
    i = j = 0
    while i < len(left) and j < len(right):
        is_left, is_right = (
            word.may_be_empty and word.text in language.articles
            for word in (left[i], right[j])
        )
        if left[i].text == right[j].text:
            i, j = i + 1, j + 1
        elif is_left and not is_right:
            i += 1
        elif is_right and not is_left:
            j += 1
        else:
            return False
    return i == len(left) and j == len(right)


def _find_language(words: Iterable[str]) -> Language:
    """Return the language that most of the words are of, or none if two are alike.

    Articles alone tell no language: `die` is an English verb as well.
    """
    unique = set(words)
    counts = [(len(unique & language.words), language) for language in _LANGUAGES]
    most = max(count for count, _ in counts)
    best = [language for count, language in counts if count == most]
    is_told = len(best) == 1 and bool(unique & best[0].telling)
    return best[0] if is_told else NO_LANGUAGE


def share_of_words(left: str, right: str) -> float:
    """Return how many of the words of two texts are in both, from 0 to 1.

    Marks beside the words and the order do not count.
    """
    a, b = (_bag(text) for text in (left, right))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 1.0


def _bag(text: str) -> Counter[str]:
    words = (word.text.strip(_PARTING + "-") for word in read_words(text))
    return Counter(filter(None, words))
