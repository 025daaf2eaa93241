"""Find quotes in their sources, letter by letter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from common.text import same_text, sentences
from playbook.lessons.lesson import Quote, SourceText

MIN_QUOTE = 8  # characters; fewer stand in any text, but may be a whole one
SURROUNDING_CHARS = 300  # before and after a quote, which may have dictated it


def find(quotes: Iterable[Quote], sources: Sequence[SourceText]) -> tuple[Quote, ...]:
    """Return the quotes that stand in a source, each with its place and who said it.

    White space at the ends does not count. What does not stand anywhere is left out.
    """
    placed = (_place(quote, sources) for quote in quotes)
    return tuple(dict.fromkeys(quote for quote in placed if quote))


def _place(quote: Quote, sources: Sequence[SourceText]) -> Quote | None:
    words = quote.quote.strip()
    named = [each for each in sources if each.field == quote.field]
    named.sort(key=lambda each: each.id != quote.id)
    shift = len(quote.quote) - len(quote.quote.lstrip())
    for source in (*named, *sources) if words else ():
        if len(words) < MIN_QUOTE and words != source.text.strip():
            continue
        start = quote.start + shift
        if not (quote.end and source.text.startswith(words, start)):
            start = source.text.find(words)
        if start >= 0:
            return Quote(
                quote=words,
                field=source.field,
                start=start,
                end=start + len(words),
                source=source.source,
                id=source.id,
                speaker=source.speaker,
                has_failed=source.has_failed,
            )
    return None


def source_of(quote: Quote, sources: Iterable[SourceText]) -> SourceText:
    """Return the source of a quote that was found."""
    return next(
        each
        for each in sources
        if (each.source, each.id, each.field) == (quote.source, quote.id, quote.field)
        and each.text[quote.start : quote.end] == quote.quote
    )


def surroundings(
    quotes: Iterable[Quote], sources: Sequence[SourceText]
) -> Iterator[str]:
    for quote in quotes:
        text = source_of(quote, sources).text
        first = max(quote.start - SURROUNDING_CHARS, 0)
        yield text[first : quote.end + SURROUNDING_CHARS]


def repeat_sentences(content: str, text: str) -> bool:
    """Whether a lesson is nothing but whole sentences of a text.

    A part of a sentence may say its opposite: "never push" has the words "push".
    """
    said = set(_sentences(text))
    return all(sentence in said for sentence in _sentences(content))


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentences.split(text):
        yield same_text.join_words(text[start:end])
