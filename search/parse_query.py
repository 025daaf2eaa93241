"""What a person typed, and the lexemes that it means in a project."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import NamedTuple

from django.contrib.postgres.search import SearchQuery
from django.db import DEFAULT_DB_ALIAS, connections

from search import tokenise

# More words than this beside the quoted ones are prose, which quotes titles and
# messages and uses dashes: it means no operators. Measured on judged queries: taken
# as operators there, quotes cost 0.05 nDCG@10.
MAX_WORDS_WITH_OPERATORS = 8

# Not the quotes of pasted code: `{"user_id": "mia"}` asks for no phrase.
_PHRASE = re.compile(r'(?:(?<=\s)|^)(-?)"([^"]{1,500})"(?=[\s.!?]|$)')
# Behind one letter and a sign stands what a flag takes (`-I/usr/include`).
_EXCLUDED = r"(?:^|(?<=\s))-(?!-|[^\W\d][^\w-])(\S{3,100})(?=\s|$)"
# A word of a name; camelCase ones are flags (`-DskipTests`).
_PLAIN = re.compile(r"\w[^\WA-Z]*|[^\Wa-z]+")
_PUNCTUATION = ".,:;!?"
# A dash within quotes is a character.
_OPERATOR = re.compile(f"{_PHRASE.pattern}|{_EXCLUDED}")
# Each is looked at in every row that holds the others. Nobody types so many.
MAX_OPERATORS = 32


class LexemeQuery(SearchQuery):
    """A tsquery of lexemes that are stemmed already."""

    template = "(%(expressions)s)::tsquery"


@dataclass(frozen=True)
class ParsedQuery:
    """A query cut into what ranks, what must stand as written, what must not stand."""

    ranked: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        return not (self.phrases or self.excluded)


class Condition(NamedTuple):
    """What every hit must fulfil, and the lexemes that it must hold for that."""

    query: LexemeQuery
    held: tuple[str, ...]


def parse(query: str) -> ParsedQuery:
    """Take out `"quoted phrases"` and `-words`; the words of a phrase rank as well.

    Prose, and a query of nothing but exclusions, are words only.
    """
    phrases: list[str] = []
    excluded: list[str] = []

    def taken(found: re.Match[str]) -> str:
        minus, phrase, word = found.groups()
        word = word and word.rstrip(_PUNCTUATION)
        if not (phrase or _is_name(word)):
            return found[0]
        if word or minus:
            excluded.append(word or phrase)
            return " "
        phrases.append(phrase)
        return str(phrase)

    if len(_PHRASE.sub(" ", query).split()) > MAX_WORDS_WITH_OPERATORS:
        return ParsedQuery(query)
    ranked = _OPERATOR.sub(taken, query)
    if not ranked.strip() or len(phrases) + len(excluded) > MAX_OPERATORS:
        return ParsedQuery(query)
    return ParsedQuery(ranked, tuple(phrases), tuple(excluded))


def build_condition(
    parsed: ParsedQuery, language: str, using: str = DEFAULT_DB_ALIAS
) -> Condition | None:
    """What every hit must fulfil in any mode; None when nothing is asked for.

    A phrase of nothing but stop words or punctuation asks for nothing. An identifier
    of which the stop words leave one word or none (`no_cache`) is asked for as a whole:
    it would be any `cached`.
    """
    if parsed.is_plain:
        return None
    wanted = [(phrase, "") for phrase in parsed.phrases]
    unwanted = [(phrase, "!") for phrase in parsed.excluded]
    with connections[using].cursor() as cursor:
        cursor.execute(
            OPERATOR_TSQUERIES,
            [
                language,
                [tokenise.separate_words(phrase) for phrase, _ in wanted + unwanted],
                [_single_identifier(phrase) for phrase, _ in wanted + unwanted],
                [operator for _, operator in wanted + unwanted],
            ],
        )
        rows = cursor.fetchall()
    if not rows:
        return None
    held = [lexeme for _, lexemes in rows for lexeme in lexemes]
    return Condition(LexemeQuery(" & ".join(part for part, _ in rows)), tuple(held))


def _is_name(word: str) -> bool:
    """Whether a dash before it leaves it out, and does not make a flag of it."""
    is_plain = len(word) > 2 and all(map(_PLAIN.fullmatch, word.split("-")))
    return is_plain or _single_identifier(word) is not None


def _single_identifier(phrase: str) -> str | None:
    """The lexeme of a phrase that is one identifier, as in `no_cache()`."""
    found = tokenise.compounds(phrase)
    is_one = found == [phrase.strip(f"{string.whitespace}()={_PUNCTUATION}").lower()]
    return found[0] if is_one else None


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
