"""A long text becomes chunks that together hold all of it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inference.embedding import chunks
from inference.embedding.embedder import from_settings

WORDS = st.sampled_from(
    ["retry", "é", "数据", "a.b", "\n\n", ". ", " ", "x" * 90, "\ud800"]
)
TEXTS = st.lists(WORDS, max_size=1500).map(" ".join)


def starts_of_words(text):
    return [at for at in range(len(text)) if at == 0 or text[at - 1] == " "]


@given(TEXTS, st.sampled_from([chunks.estimate_starts, starts_of_words]))
def test_chunks_overlap_and_hold_the_text_up_to_the_last_one(text, token_starts):
    spans = chunks.find_spans(text, token_starts)

    assert spans[0][0] == 0
    assert 1 <= len(spans) <= chunks.MAX_CHUNKS
    for (start, end), (following, further) in pairwise(spans):
        assert start < following < end < further
    assert spans[-1][1] == len(text) or len(spans) == chunks.MAX_CHUNKS


@given(TEXTS)
def test_a_chunk_has_no_more_tokens_than_a_model_reads(text):
    starts = chunks.estimate_starts(text)

    for start, end in chunks.find_spans(text, chunks.estimate_starts):
        inside = [at for at in starts if start <= at < end]
        assert len(inside) <= chunks.MAX_TOKENS


def test_a_short_text_is_one_chunk_and_needs_no_tokenizer():
    def refuse(text):
        raise AssertionError(text)

    assert chunks.find_spans("x" * chunks.MAX_TOKENS, refuse) == [(0, 240)]
    assert chunks.find_spans("", refuse) == [(0, 0)]


def test_a_chunk_ends_at_a_paragraph_if_one_ends_near():
    text = "word " * 200 + "end.\n\n" + "other " * 200

    first, second, *_ = chunks.find_spans(text, starts_of_words)

    assert text[: first[1]].endswith("end.\n\n")
    assert second[0] < first[1]


def test_the_bundled_model_reads_each_of_its_chunks_whole(settings):
    settings.EMBEDDING_PROVIDER = "minilm"
    model = from_settings()
    text = "The deploy of `billing-api` needs the größte migration first. " * 60

    parts = model.split(text)

    assert len(parts) > 2
    assert all(len(model.token_starts(part)) <= chunks.MAX_TOKENS for part in parts)
