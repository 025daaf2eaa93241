"""Split a long text into chunks, so that a model reads all of it and not only its beginning."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from common.text.text_spans import TextSpan
from inference import tokens

# In tokens of the model: design page 03, "Tables". The model reads at most 256 tokens, two of
# which are its own.
MAX_TOKENS = 240
OVERLAP = 32
# The rest of a longer text is found by its words only.
MAX_CHUNKS = 16
# A chunk may end up to this many tokens early, at the end of a paragraph, line or sentence.
BREAK_WITHIN = 60
# A shorter text, in characters, has all of its tokens in a chunk.
MIN_CUT = MAX_CHUNKS * (MAX_TOKENS - BREAK_WITHIN - OVERLAP)
_BREAKS = ("\n\n", "\n", ". ", " ")

TokenStarts = Callable[[str], Sequence[int]]


def estimate_starts(text: str) -> list[int]:
    """Return the character at which each token of a text begins, by the estimate of tokens."""
    starts: list[int] = []
    size = 0
    for at, char in enumerate(text):
        if size >= len(starts) * tokens.BYTES_PER_TOKEN:
            starts.append(at)
        size += len(char.encode("utf-8", "surrogatepass"))
    return starts


def estimate_count(text: str) -> int:
    """Return about how many chunks a text has, without a tokenizer."""
    step = MAX_TOKENS - OVERLAP
    return min(MAX_CHUNKS, 1 + tokens.estimate(text) // step)


def find_spans(text: str, token_starts: TokenStarts) -> list[TextSpan]:
    """Return the spans of a text's chunks, at least one; the spans overlap.

    The last span ends before the end of the text if the text has more than MAX_CHUNKS chunks.
    """
    # A token has at least one character, and so most texts need no tokenizer.
    if len(text) <= MAX_TOKENS or len(starts := token_starts(text)) <= MAX_TOKENS:
        return [(0, len(text))]
    spans: list[TextSpan] = []
    first = 0
    while len(spans) < MAX_CHUNKS:
        after = first + MAX_TOKENS
        if after >= len(starts):
            spans.append((starts[first], len(text)))
            break
        end = _break(text, starts[after - BREAK_WITHIN], starts[after])
        spans.append((starts[first], end))
        first = bisect_left(starts, end) - OVERLAP
    return spans


def _break(text: str, earliest: int, latest: int) -> int:
    """Return the best place to end a chunk between two places of a text."""
    for mark in _BREAKS:
        if (at := text.rfind(mark, earliest, latest)) >= 0:
            return at + len(mark)
    return latest
