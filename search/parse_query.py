"""Parse the search text that a person typed: words, quoted phrases and excluded words."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import NamedTuple

from django.contrib.postgres.search import SearchQuery
from django.db import DEFAULT_DB_ALIAS, connections

from search import tokenise

# A query with more unquoted words than this is prose: its quotes and dashes are no
# operators. Measured on judged queries: as operators, quotes in prose cost 0.05 nDCG@10.
MAX_WORDS_WITH_OPERATORS = 8

# The quotes of pasted code, as in `{"user_id": "mia"}`, make no phrase.
_PHRASE = re.compile(r'(?:(?<=\s)|^)(-?)"([^"]{1,500})"(?=[\s.!?]|$)')
# One letter and a sign begin a flag with its value (`-I/usr/include`).
_EXCLUDED = r"(?:^|(?<=\s))-(?!-|[^\W\d][^\w-])(\S{3,100})(?=\s|$)"
# A word of a name; camelCase words are flags (`-DskipTests`).
_PLAIN = re.compile(r"\w[^\WA-Z]*|[^\Wa-z]+")
_PUNCTUATION = ".,:;!?"
# Phrases first: a dash within quotes is no operator.
_OPERATOR = re.compile(f"{_PHRASE.pattern}|{_EXCLUDED}")
# Each operator is checked in every row that passes the others. Nobody types so many.
MAX_OPERATORS = 32


class LexemeQuery(SearchQuery):
    """A tsquery of lexemes that are stemmed already."""

    template = "(%(expressions)s)::tsquery"


@dataclass(frozen=True)
class ParsedQuery:
    """A query: the text that ranks, the phrases that hits must hold, and the exclusions."""

    ranked: str
    phrases: tuple[str, ...] = ()
    exclusions: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        return not (self.phrases or self.exclusions)


class Condition(NamedTuple):
    """A tsquery that every hit matches, and the lexemes that every hit holds."""

    query: LexemeQuery
    lexemes: tuple[str, ...]


def parse(query: str) -> ParsedQuery:
    """Take out `"quoted phrases"` and `-words`; the words of a phrase rank as well.

    Prose has no operators, and neither has a query of nothing but exclusions.
    """
    phrases: list[str] = []
    exclusions: list[str] = []

    def take_out(match: re.Match[str]) -> str:
        minus, phrase, word = match.groups()
        word = word and word.rstrip(_PUNCTUATION)
        if not (phrase or _is_name(word)):
            return match[0]
        if word or minus:
            exclusions.append(word or phrase)
            return " "
        phrases.append(phrase)
        return str(phrase)

    if len(_PHRASE.sub(" ", query).split()) > MAX_WORDS_WITH_OPERATORS:
        return ParsedQuery(query)
    ranked = _OPERATOR.sub(take_out, query)
    if not ranked.strip() or len(phrases) + len(exclusions) > MAX_OPERATORS:
        return ParsedQuery(query)
    return ParsedQuery(ranked, tuple(phrases), tuple(exclusions))


def build_condition(
    parsed: ParsedQuery, language: str, using: str = DEFAULT_DB_ALIAS
) -> Condition | None:
    """Build the condition that every hit fulfils in any mode; None without operators.

    A phrase of nothing but stop words or punctuation sets no condition. An identifier
    that has one word or none without its stop words (`no_cache`) is matched as a whole:
    else it would match any `cached`.
    """
    if parsed.is_plain:
        return None
    operators = [(phrase, "") for phrase in parsed.phrases]
    operators += [(phrase, "!") for phrase in parsed.exclusions]
    with connections[using].cursor() as cursor:
        cursor.execute(
            OPERATOR_TSQUERIES,
            [
                language,
                [tokenise.separate_words(phrase) for phrase, _ in operators],
                [_single_identifier(phrase) for phrase, _ in operators],
                [operator for _, operator in operators],
            ],
        )
        rows = cursor.fetchall()
    if not rows:
        return None
    query = LexemeQuery(" & ".join(tsquery for tsquery, _ in rows))
    return Condition(query, tuple(each for _, lexemes in rows for each in lexemes))


def _is_name(word: str) -> bool:
    """Whether a dash before it excludes it, rather than makes it a flag."""
    is_plain = len(word) > 2 and all(map(_PLAIN.fullmatch, word.split("-")))
    return is_plain or _single_identifier(word) is not None


def _single_identifier(phrase: str) -> str | None:
    """The lexeme of a phrase that is one identifier, as in `no_cache()`."""
    identifiers = tokenise.compounds(phrase)
    whole = phrase.strip(f"{string.whitespace}()={_PUNCTUATION}").lower()
    return whole if identifiers == [whole] else None


OPERATOR_TSQUERIES = """
SELECT operator || '(' || CASE WHEN is_cut THEN array_to_tsvector(ARRAY[whole])::text
                               ELSE phrase::text END || ')',
       CASE WHEN operator <> '' THEN '{}'
            WHEN is_cut THEN ARRAY[whole]
            ELSE tsvector_to_array(to_tsvector(language, asked.words)) END
FROM (SELECT %s::regconfig AS language) AS given,
     unnest(%s::text[], %s::text[], %s::text[]) AS asked (words, whole, operator),
     phraseto_tsquery(language, asked.words) AS phrase,
     phraseto_tsquery('simple', asked.words) AS uncut,
     LATERAL (SELECT whole IS NOT NULL AND numnode(phrase) <= 1
                     AND numnode(phrase) < numnode(uncut) AS is_cut) AS _
WHERE is_cut OR numnode(phrase) > 0
"""
