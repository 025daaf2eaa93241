"""Parse the text of a search: plain words, or words with phrases and exclusions."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Literal, NamedTuple

from django.contrib.postgres.search import SearchQuery
from django.db import DEFAULT_DB_ALIAS, connections

from common.text import tokenise

# How quotes and dashes in a query are read: as text, or as operators.
Syntax = Literal["plain", "operators"]

# A query with more unquoted words than this is prose. Quotes and dashes in prose are
# not operators. On judged queries, reading quotes in prose as operators costs 0.05
# nDCG@10.
MAX_WORDS_WITH_OPERATORS = 8

# Quotes in pasted code, as in `{"user_id": "mia"}`, do not mark a phrase.
_PHRASE = re.compile(r'(?:(?<=\s)|^)(-?)"([^"]{1,500})"(?=[\s.!?]|$)')
# A letter followed by a sign begins a flag with its value (`-I/usr/include`).
_EXCLUDED = r"(?:^|(?<=\s))-(?!-|[^\W\d][^\w-])(\S{3,100})(?=\s|$)"
# A word of a name; camelCase words are flags (`-DskipTests`).
_PLAIN = re.compile(r"\w[^\WA-Z]*|[^\Wa-z]+")
_PUNCTUATION = ".,:;!?"
_SIGNS = re.compile(r"[-–—\"'`´“”„‘’«»()\[\]{}<>|*#=]")  # noqa: RUF001
# Phrases are taken out first, because a dash within quotes is not an operator.
_OPERATOR = re.compile(f"{_PHRASE.pattern}|{_EXCLUDED}")
# The database checks each operator in every row that passes the other operators. Nobody
# types more operators than this.
MAX_OPERATORS = 32


class LexemeQuery(SearchQuery):
    """A tsquery of lexemes that are stemmed already."""

    template = "(%(expressions)s)::tsquery"


@dataclass(frozen=True)
class ParsedQuery:
    """A query: the text for ranking, the phrases that hits must hold, and excluded words."""

    ranked: str
    phrases: tuple[str, ...] = ()
    exclusions: tuple[str, ...] = ()

    @property
    def embedded(self) -> str:
        """The text for the vector: the words without quotes, dashes and brackets.

        These signs move a vector, although they say little of what is meant: without them,
        a pasted line of code or of a log finds the same rows as its bare words
        (docs/ranking.md, "Query syntax").
        """
        return " ".join(_SIGNS.sub(" ", self.ranked).split()) or self.ranked

    @property
    def is_plain(self) -> bool:
        return not (self.phrases or self.exclusions)


class Condition(NamedTuple):
    """A tsquery that every hit matches, and the lexemes that every hit holds."""

    query: LexemeQuery
    lexemes: tuple[str, ...]


def parse(query: str, syntax: Syntax) -> ParsedQuery:
    """Take `"quoted phrases"` and `-words` out of a query with operators.

    A plain query is left as it is. The words of a phrase also count for the ranking. Prose
    has no operators. A query that has only excluded words has no operators either.
    """
    if syntax == "plain":
        return ParsedQuery(query)
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
    """Build the condition that every hit meets in any mode; None if there are no operators.

    A phrase that has only stop words or punctuation adds no condition. Some identifiers
    have at most one word besides stop words, such as `no_cache`. Such an identifier is
    matched as a whole, because otherwise it would match every `cached`.
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
                [tokenise.index_text(phrase).folded for phrase, _ in operators],
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
    """Return whether a dash before this word excludes the word; otherwise both are a flag."""
    is_plain = len(word) > 2 and all(map(_PLAIN.fullmatch, word.split("-")))
    return is_plain or _single_identifier(word) is not None


def _single_identifier(phrase: str) -> str | None:
    """Return the lexeme of a phrase that is one identifier, such as `no_cache()`."""
    identifiers = tokenise.compounds(phrase)
    whole = phrase.strip(f"{string.whitespace}()={_PUNCTUATION}").lower()
    return whole if whole in identifiers else None


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
