"""Tell whether the prose of a text is in another language than English.

The gates read English, and other languages only by word tables. A caller can hold a text
that they cannot read in full. Code, names and paths are no prose.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

from common.text.danger.word_tables import read_entries, read_lines
from common.text.visible import matching_form

# A text with fewer words of another script, or of another language, is a technical text
# with names in it.
MIN_LETTERS, MIN_WORDS = 4, 2
UNKNOWN = "und"  # the tag of a language that is not determined
TABLES = ("disable", "remove", "send", "expose", "hide", "fetch", "execute", "cancel")
MAX_CHARACTERS = 20_000

_CODE = re.compile(r"```.{0,4000}?```|`[^`\n]{1,200}`|\"[^\"\n]{1,60}\"", re.DOTALL)
_PLAIN_WORD = re.compile(r"(?<![\w./:@$#\\-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w/:@\\-])")
_LOANWORDS = frozenset(["café", "naïve", "résumé", "façade"])
_SCRIPTS = {
    "CYRILLIC": "ru",
    "GREEK": "el",
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "ARABIC": "ar",
    "HEBREW": "he",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "THAI": "th",
    "TAMIL": "ta",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
}


def foreign_language(text: str) -> str:
    """Return the language of a text that is not English, or nothing.

    For a script that several languages share, it is the most frequent of them.
    """
    prose = text[:MAX_CHARACTERS]
    if not prose.isascii() and (script := _foreign_script(prose)):
        return script
    words = _PLAIN_WORD.findall(_CODE.sub(" ", prose).lower())
    return _foreign_words(words)


def _foreign_script(text: str) -> str:
    """Return the language of the letters that are not Latin, if they are words.

    A word with letters of two scripts is a disguise and has no language.
    """
    languages = Counter(
        _SCRIPTS.get(unicodedata.name(letter, "").split(" ", 1)[0], "")
        for word in re.findall(r"[^\W\d_]+", _CODE.sub(" ", text))
        if not re.search("[A-Za-z]", word)
        or re.search("[\u3040-\u9fff\uac00-\ud7a3]", word)
        for letter in word
    )
    del languages[""]
    if "ja" in languages and "zh" in languages:
        languages["ja"] += languages.pop("zh")
    if not languages:
        return ""
    language, count = languages.most_common(1)[0]
    latin = sum(map(str.isascii, filter(str.isalpha, text)))
    dense = language in ("zh", "ja", "ko")
    return (
        language
        if count >= (2 if dense else MIN_LETTERS)
        and count * (4 if dense else 2) > latin
        else ""
    )


def _foreign_words(words: list[str]) -> str:
    """Return the language whose function words are more than the English ones.

    A word counts once. One that English shares with another language does not count.
    Words with accents, and words that only the tables of other languages have, count too.
    """
    plain = [matching_form(word).text for word in words]
    both = _english_words() & _function_words().keys()
    english = len(set(plain) & _english_words() - both)
    languages = Counter(
        language
        for word in set(plain) - both
        if len(word) > 1
        for language in _function_words().get(word, ())
    )
    others = {
        word
        for word, form in zip(words, plain, strict=True)
        if form not in _function_words()
        and form not in _english_words()
        and ((not word.isascii() and word not in _LOANWORDS) or _is_foreign_verb(form))
    }
    language, count = languages.most_common(1)[0] if languages else (UNKNOWN, 0)
    return language if count + len(others) >= max(MIN_WORDS, 2 * english + 1) else ""


def _is_foreign_verb(word: str) -> bool:
    longest = min(len(word), _longest_stem())
    return any(word[:length] in _foreign_stems() for length in range(5, longest + 1))


@cache
def _longest_stem() -> int:
    return max(map(len, _foreign_stems()))


@cache
def _foreign_stems() -> frozenset[str]:
    """Return the beginnings of words that only the tables of other languages have."""
    entries = [entry for table in TABLES for entry in read_entries(table)]
    english = {part for entry in entries if entry.english for part in entry.parts}
    stems = {
        part.rstrip("*")
        for entry in entries
        if not entry.english
        for part in entry.parts[:1]
    }
    return frozenset(
        stem
        for stem in stems
        if len(stem) > 4 and not any(word.startswith(stem) for word in english)
    )


@cache
def _english_words() -> frozenset[str]:
    return frozenset(read_lines("english"))


@cache
def _function_words() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word of another language than English."""
    languages: dict[str, list[str]] = {}
    language = ""
    for line in read_lines("function_words"):
        if line.startswith("# "):
            language = line[2:].split(",")[0]
        else:
            languages.setdefault(line, []).append(language)
    return {word: tuple(found) for word, found in languages.items()}
