from __future__ import annotations

import uuid
from typing import Any

from django.db.models import F, Func, QuerySet, TextField, Value
from django.utils.html import escape

from search import query
from search.fields import CONFIG
from search.query import Term

# Characters that no stored text can confuse: private use, and escaping keeps them.
OPEN, CLOSE = "\ue000", "\ue001"
LENGTH = 240  # characters shown of a text in which no term stands
WORDS = "MaxWords=40, MinWords=15, MaxFragments=2, FragmentDelimiter= … "


def of(rows: QuerySet[Any], column: str, terms: list[Term]) -> dict[uuid.UUID, str]:
    """HTML-escaped extracts with the matched words in `<mark>`: {id: snippet}."""
    if not terms:
        return {pk: escape(text[:LENGTH]) for pk, text in rows.values_list("pk", column)}
    headline = Func(
        Func(Value(CONFIG), template="(%(expressions)s)::regconfig", output_field=TextField()),
        F(column),
        query.LexemeQuery(query.any_of(term.lexeme for term in terms)),
        Value(f"StartSel={OPEN}, StopSel={CLOSE}, {WORDS}"),
        function="ts_headline",
        template="%(function)s(%(expressions)s)",
        output_field=TextField(),
    )
    found = rows.annotate(headline=headline).values_list("pk", "headline")
    return {pk: marked(headline) for pk, headline in found}


def marked(headline: str) -> str:
    safe = escape(headline)
    return safe.replace(OPEN, "<mark>").replace(CLOSE, "</mark>")

