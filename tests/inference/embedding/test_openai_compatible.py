from __future__ import annotations

import math

import pytest

from inference.embedding import active_model
from inference.errors import (
    BadAnswer,
    InferenceError,
    ProviderDown,
    ProviderMisconfiguration,
    ProviderTimeout,
    RateLimitError,
    RequestRefusal,
)


def vectors(body):
    """Answer [length of the text, 1, 0], last text first."""
    rows = [
        {"object": "embedding", "index": place, "embedding": [len(text), 1.0, 0]}
        for place, text in enumerate(body["input"])
    ]
    return {"object": "list", "data": rows[::-1], "model": body["model"]}


@pytest.fixture
def embedder(settings, endpoint):
    settings.EMBEDDING_PROVIDER = "openai"
    settings.EMBEDDING_URL = endpoint.url
    settings.EMBEDDING_API_KEY = "secret"
    settings.EMBEDDING_MODEL = "nomic"
    settings.EMBEDDING_DIMENSIONS = None
    settings.EMBEDDING_TIMEOUT = 5
    endpoint.answer = vectors
    return active_model.get()


class TestGoodAnswers:
    def test_vectors_come_in_the_order_of_the_texts(self, embedder):
        short, longer = embedder.embed(["a", "abc"])

        assert short == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), 0])
        assert longer == pytest.approx([3 / math.sqrt(10), 1 / math.sqrt(10), 0])

    def test_the_call_carries_model_and_key(self, embedder, endpoint):
        embedder.embed(["a"])

        assert endpoint.requests == [
            {
                "path": "/v1/embeddings",
                "model": "nomic",
                "input": ["a"],
                "encoding_format": "float",
            }
        ]
        assert endpoint.authorizations == ["Bearer secret"]

    def test_the_key_of_another_service_is_not_sent(
        self, embedder, endpoint, settings, monkeypatch
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "of another service")
        settings.EMBEDDING_API_KEY = ""

        active_model.get().embed(["a"])

        assert endpoint.authorizations == ["Bearer unused"]

    def test_calls_hold_at_most_embedding_batch_texts(
        self, embedder, endpoint, settings
    ):
        settings.EMBEDDING_BATCH = 2

        assert len(embedder.embed(["a", "b", "c", "d", "e"])) == 5
        assert [len(call["input"]) for call in endpoint.requests] == [2, 2, 1]

    def test_no_texts_make_no_call(self, embedder, endpoint):
        assert embedder.embed([]) == []
        assert endpoint.requests == []

    def test_the_width_is_learned_from_an_answer(self, embedder, endpoint):
        assert embedder.dimensions == 3
        assert embedder.dimensions == 3
        assert len(endpoint.requests) == 1

    def test_a_chosen_width_is_asked_for_and_named(self, embedder, endpoint, settings):
        settings.EMBEDDING_DIMENSIONS = 3

        chosen = active_model.get()
        chosen.embed(["a"])

        assert (chosen.name, chosen.dimensions) == ("nomic@3", 3)
        assert endpoint.requests[0]["dimensions"] == 3

    def test_a_lone_surrogate_is_sent_as_a_question_mark(self, embedder, endpoint):
        embedder.embed(["\ud800"])

        assert endpoint.requests[0]["input"] == ["?"]


class TestLongTexts:
    def refuse_over(self, limit, endpoint):
        def answer(body):
            fits = all(len(text) <= limit for text in body["input"])
            endpoint.status = 200 if fits else 400
            return vectors(body) if fits else {"error": {"message": "too long"}}

        endpoint.answer = answer

    def test_a_text_is_cut_at_8000_characters(self, embedder, endpoint):
        embedder.embed(["x" * 50_000])

        assert len(endpoint.requests[0]["input"][0]) == 8000

    def test_a_text_too_long_for_the_model_is_shortened(self, embedder, endpoint):
        self.refuse_over(600, endpoint)

        assert embedder.embed(["x" * 2000]) == embedder.embed(["x" * 500])

    def test_the_others_of_its_batch_keep_their_vectors(self, embedder, endpoint):
        self.refuse_over(600, endpoint)

        _, other = embedder.embed(["x" * 2000, "y" * 550])

        assert other == embedder.embed(["y" * 550])[0]

    def test_a_refusal_for_another_reason_ends_after_three_calls(
        self, embedder, endpoint
    ):
        self.refuse_over(0, endpoint)

        with pytest.raises(RequestRefusal, match="too long") as caught:
            embedder.embed(["x" * 1000] * 20)

        assert caught.value.retryable is False
        assert len(endpoint.requests) == 3


class TestFailures:
    def test_too_many_requests_say_when_to_come_back(self, embedder, endpoint):
        endpoint.status, endpoint.answer_headers = 429, {"Retry-After": "7"}

        with pytest.raises(RateLimitError) as caught:
            embedder.embed(["a"])

        assert (caught.value.retryable, caught.value.retry_after) == (True, 7.0)
        assert len(endpoint.requests) == 1

    @pytest.mark.parametrize("status", [408, 500, 503])
    def test_a_failing_server_is_worth_another_try(self, embedder, endpoint, status):
        endpoint.status = status

        with pytest.raises(ProviderDown, match=str(status)) as caught:
            embedder.embed(["a"])

        assert caught.value.retryable is True

    @pytest.mark.parametrize("status", [401, 403, 404])
    def test_a_refused_key_or_model_is_not(self, embedder, endpoint, status):
        endpoint.status = status

        with pytest.raises(RequestRefusal, match=str(status)) as caught:
            embedder.embed(["a"])

        assert caught.value.retryable is False
        assert len(endpoint.requests) == 1

    def test_a_server_that_hangs_is_left_after_the_timeout(
        self, embedder, endpoint, settings
    ):
        settings.EMBEDDING_TIMEOUT = 0.2
        endpoint.answer = endpoint.hang

        with pytest.raises(ProviderTimeout) as caught:
            active_model.get().embed(["a"])

        assert caught.value.retryable is True

    @pytest.mark.parametrize("status", [200, 500])
    def test_a_server_that_drips_is_left_after_the_timeout(
        self, embedder, endpoint, settings, status
    ):
        settings.EMBEDDING_TIMEOUT = 0.2
        endpoint.status, endpoint.answer_headers = status, {"drip": "yes"}

        with pytest.raises(ProviderTimeout):
            active_model.get().embed(["a"])

    def test_an_endless_answer_is_left(self, embedder, endpoint, monkeypatch):
        from inference import endpoint as module

        monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1000)
        endpoint.answer = lambda body: b" " * 2000

        with pytest.raises(ProviderDown, match="too large"):
            embedder.embed(["a"])

    def test_a_server_that_is_not_there_is_worth_another_try(
        self, embedder, settings, refusing_url
    ):
        settings.EMBEDDING_URL = refusing_url

        with pytest.raises(ProviderDown, match="cannot be reached") as caught:
            active_model.get().embed(["a"])

        assert caught.value.retryable is True

    def test_missing_settings_are_named(self, settings):
        settings.EMBEDDING_PROVIDER = "openai"
        settings.EMBEDDING_URL = ""

        with pytest.raises(ProviderMisconfiguration, match="EMBEDDING_URL"):
            active_model.get()


def row(index, *numbers):
    return {"index": index, "embedding": list(numbers)}


class TestGarbage:
    @pytest.mark.parametrize(
        "answer",
        [
            b"<html>Bad gateway</html>",
            b"",
            b'{"data": [',
            b"\xff\xfe",
            b"[" * 100_000,
            b"null",
            {},
            {"data": None},
            {"data": "text"},
            {"data": [1]},
            {"data": [{"index": [], "embedding": []}]},
            {"data": []},
            {"data": [row(0, 1.0), row(1, 1.0)]},
            {"data": [row(0, 1.0), row(0, 1.0)]},
            {"data": [row(3, 1.0)]},
            {"data": [{"index": 0, "embedding": "AACAPw=="}]},
            {"data": [{"index": 0, "embedding": [True, "1"]}]},
        ],
    )
    def test_an_answer_that_makes_no_sense_is_worth_another_try(
        self, embedder, endpoint, answer
    ):
        endpoint.answer = lambda body: answer

        with pytest.raises(BadAnswer) as caught:
            embedder.embed(["a"])

        assert caught.value.retryable is True

    @pytest.mark.parametrize(
        "numbers", [[], [0, 0.0], [math.nan, 1], [math.inf, 1], [10**400, 1]]
    )
    def test_a_vector_without_direction_is_not(self, embedder, endpoint, numbers):
        endpoint.answer = lambda body: {"data": [row(0, *numbers)]}

        with pytest.raises(BadAnswer, match="no direction") as caught:
            embedder.embed(["a"])

        assert caught.value.retryable is False

    def test_a_width_other_than_the_setting_is_refused(self, embedder, settings):
        settings.EMBEDDING_DIMENSIONS = 4

        with pytest.raises(BadAnswer, match="3 dimensions; expected 4") as caught:
            active_model.get().embed(["a"])

        assert caught.value.retryable is False

    def test_a_width_other_than_before_is_refused(self, embedder, endpoint):
        embedder.embed(["a"])
        endpoint.answer = lambda body: {"data": [row(0, 1.0, 2.0)]}

        with pytest.raises(InferenceError, match="2 dimensions; expected 3"):
            embedder.embed(["a"])
