"""A text in the form that the checks of `disagreement` read.

The form has the words of the text, their stems, its negations and its amounts.
"""

from __future__ import annotations

import re
from functools import cached_property

from common.text import literals
from common.text.contradiction import amounts
from common.text.contradiction.stems import stem
from common.text.normalise import normalise


def word_set(table: str) -> frozenset[str]:
    return frozenset(table.split())


STOPS = frozenset(",.;:!?")
ARTICLES = word_set("a an the this that these those its their his her")
BE = word_set("is are was were be been being am get gets got")
LINKS = word_set(
    "and or but also then which who when while if because so do does did will would"
    " has have had can could should there it very only i you we"
)
PREPOSITIONS = word_set(
    "of in on at to for from with by into onto over under through about against than"
    " as near behind across along between during per via off"
)
SILENT = ARTICLES | BE | LINKS | STOPS
LIGHT = SILENT | PREPOSITIONS

NEGATORS = word_set(
    "not no never none neither without nobody nothing nowhere non unless avoid avoids"
    " avoided avoiding forbid forbids forbidden prohibit prohibits prohibited refrain"
    " prevent prevents prevented lack lacks nor unable unnecessary impossible"
)
# A phrase with one meaning is replaced by one word before anything is counted.
_OFTEN = "second|minute|hour|day|night|week|month|quarter|year|run|request|release"
_COMPARED = r"(?<=[\w\s)]){}(?=\s*[\w\"'`-])"
_PHRASES = tuple(
    (re.compile(_COMPARED.format(sign)), word)
    for sign, word in (
        (r"(?:>=|\u2265)", " atleast "),
        (r"(?:<=|\u2264)", " atmost "),
        (r"(?:!=|\u2260)", " not equals "),
        (r"==", " equals "),
        (r"(?<=\s)>", " more than "),
        (r"(?<=\s)<", " less than "),
    )
) + tuple(
    (re.compile(rf"\b(?:{phrase})\b"), word)
    for phrase, word in (
        (r"(?:do not|don't|never) forget to|remember to", " "),
        (r"(?:make|be) sure (?:to|that)|ensure that", " "),
        (r"(?:can|may) ?not|can't", "must not"),
        (r"won't", "will not"),
        (r"(?:nobody|no one|nothing|none) (?:but|except|other than)", "only"),
        (r"(\w+)n't", r"\1 not"),
        (r"not (?:only|just)", "only"),
        (r"not (all|always|both|every(?:one|thing|body)?)", r"notall \1"),
        (r"prior to|ahead of", "before"),
        (r"subsequent to", "after"),
        (r"followed by", "then"),
        (r"(?:a )?(?:pair|couple) of", "two"),
        (r"neither (.{1,80}?) nor", r"not \1 or"),
        (r"no longer", "not"),
        (r"(?:must |should |do |does |to )?(?:not|never) exceed(?:s|ing)?", "atmost"),
        (r"(?:leave|leaves|left|leaving) out", "omit"),
        (r"(?:turn|switch)(?:s|es|ed|ing)? on", "enable"),
        (r"(?:turn|switch)(?:s|es|ed|ing)? off", "disable"),
        (rf"once (?=(?:an?|per|every|each) (?:{_OFTEN}))", " "),
        (
            r"as soon as|once (?=(?:the|all|an?|every|each|both|it|they|you|this) )",
            "after ",
        ),
        (r"(half|quarter) (?:of )?an? ", r"\1 "),
        (r"any ?more|any longer", " "),
        (
            r"at least|(?:no|not) (?:fewer|less) than|a minimum of|(?:the )?minimum",
            "atleast",
        ),
        (r"at most|(?:no|not) more than|up to|a maximum of|(?:the )?maximum", "atmost"),
        (r"a few", "some"),
        (r"each other", " "),
        (r"(?:has|have|need|needs|required) to", "must"),
        (r"instead of|rather than|in (?:place|lieu) of|as opposed to", "instead"),
        (r"(prefer\w* (?!to).{1,60}?) (?:over|to)", r"\1 instead"),
        (r"fail(?:s|ed|ing)? to", "not"),
    )
)
_ALIASES = {"postgresql": "postgres", "javascript": "js", "typescript": "ts"}
_TOKEN = re.compile(
    r"(?<![\w.])-?\d{1,30}(?:,\d{3}){0,8}(?:\.\d{1,30})?|[^\W\d_]+|[%,.;:!?]"
)
# These characters may stand around a name in a sentence. U+201C and U+201D are the curved
# double quotes.
EDGES = "`'\"()[]{}<>\u201c\u201d,.;:!?"


class ParsedText:
    """The features of one text.

    Each feature is computed when it is first read.
    """

    def __init__(self, text: str) -> None:
        self.text = normalise(text).replace("\u2019", "'")
        self.folded = " ".join(self.text.casefold().split())

    @cached_property
    def identifiers(self) -> dict[str, str]:
        found = literals.find_identifiers(self.text)
        return {_ALIASES.get(term.casefold(), term.casefold()): term for term in found}

    @cached_property
    def tokens(self) -> list[str]:
        plain = self.folded
        for pattern, word in _PHRASES:
            plain = pattern.sub(word, plain)
        tokens: list[str] = []
        for piece in plain.split():
            term = piece.strip(EDGES)
            if term in self.identifiers and not term.isalpha():
                tokens += [term, *(mark for mark in piece[-1:] if mark in STOPS)]
            else:
                tokens += _TOKEN.findall(piece)
        return tokens

    @cached_property
    def words(self) -> list[str]:
        return [token for token in self.tokens if token not in STOPS]

    @cached_property
    def stems(self) -> dict[str, str]:
        return {stem(word): word for word in self.words}

    @cached_property
    def negators(self) -> list[int]:
        return [at for at, word in enumerate(self.words) if word in NEGATORS]

    @cached_property
    def amounts(self) -> set[amounts.Amount]:
        return set(amounts.read(self.words))

    @cached_property
    def bare_units(self) -> dict[tuple[str, float], str]:
        return amounts.bare_units(self.words)
