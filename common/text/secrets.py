"""Find secrets in text and mask them.

The rules are in `common.text.secret_rules`: forms of tokens, values with a secret-like name,
passwords in URLs, headers, commands and prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from common.text.secret_rules import assignments, commands, headers, prose, tokens, urls
from common.text.secret_rules.spans import Span


@dataclass(frozen=True)
class MaskedText:
    """`kinds` holds each kind of secret once, in order of appearance."""

    text: str
    kinds: tuple[str, ...]


# In order of precedence: of two spans that overlap, the kind of the earlier finder is shown.
_FINDERS = (
    tokens.find_keys,
    tokens.find_by_prefix,
    tokens.find_by_pattern,
    headers.find_secrets,
    urls.find_secrets,
    assignments.find_values,
    commands.find_secrets,
)
_WORD = re.compile(r"[A-Za-z0-9_\u00c0-\u024f-]")
MOST_ROUNDS = 4
_MASK = re.compile(r"\[secret:[\w-]+(?::[0-9a-f]+)?\]")
# A text of a request is masked where it is parsed and again where it is stored.
CACHED_LENGTH, CACHED_TEXTS = 20_000, 512


def mask(text: str) -> MaskedText:
    """Replace each secret by `[secret:<kind>]`; a second call changes nothing."""
    if len(text) < 4:
        return MaskedText(text, ())
    if len(text) <= CACHED_LENGTH and is_clean(text):
        return MaskedText(text, ())
    return _mask(text)


def error_text(text: str, limit: int) -> str:
    """Return the beginning of an error as it is stored: without secrets and without NUL.

    Twice the limit is read, so that a secret across the limit is recognized.
    """
    return mask(text.replace("\x00", "")[: 2 * limit]).text[:limit]


@lru_cache(maxsize=CACHED_TEXTS)
def is_clean(text: str) -> bool:
    """Return whether a text has no secret."""
    return not find(text)


def _mask(text: str) -> MaskedText:
    kinds: dict[str, None] = {}
    for _ in range(MOST_ROUNDS):
        spans = find(text)
        if not spans:
            break
        kinds.update(dict.fromkeys(span.kind for span in spans))
        text = _replace_spans(text, spans)
    return MaskedText(text=text, kinds=tuple(kinds))


def find(text: str) -> list[Span]:
    """Return the secrets of a text, in order and without overlaps."""
    unmasked = _MASK.sub(_cover, text) if "[secret:" in text else text
    lowered = _lower(unmasked)
    found = [(len(_FINDERS), span) for span in prose.find_secrets(unmasked, lowered)]
    spaced = prose.space(unmasked)
    lowered = lowered if spaced == unmasked else _lower(spaced)
    for rank, finder in enumerate(_FINDERS):
        found += [(rank, span) for span in finder(spaced, lowered)]
    return _merge_spans(text, found)


def _cover(mask: re.Match[str]) -> str:
    """Return a placeholder of the same length."""
    return f"<{'.' * (len(mask[0]) - 2)}>"


def _lower(text: str) -> str:
    """Return the text in lower case and of the same length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _merge_spans(text: str, found: list[tuple[int, Span]]) -> list[Span]:
    """Merge overlapping spans; the merged span has the more specific kind."""
    merged: list[tuple[int, Span]] = []
    for rank, span in sorted(found, key=lambda pair: (pair[1].start, pair[1].end)):
        end = _word_end(text, span.end)
        if not merged or span.start >= merged[-1][1].end:
            merged.append((rank, Span(span.start, end, span.kind)))
            continue
        last_rank, last = merged[-1]
        kind = span.kind if rank < last_rank else last.kind
        merged[-1] = (min(rank, last_rank), Span(last.start, max(last.end, end), kind))
    return [span for _, span in merged]


def _word_end(text: str, end: int) -> int:
    """Extend a span to the end of its word, because newer keys are longer than the pattern."""
    if end and text[end - 1].isalnum():
        while end < len(text) and _WORD.match(text[end]):
            end += 1
    return end


def _replace_spans(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += [text[end : span.start], f"[secret:{span.kind}]"]
        end = span.end
    return "".join([*pieces, text[end:]])
