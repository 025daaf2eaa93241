from __future__ import annotations

import math
import os

import pytest

from inference.embedding import active_model, fake
from inference.errors import ProviderDown, ProviderMisconfiguration
from inference.language import language_model


@pytest.fixture
def fake_provider(settings):
    settings.EMBEDDING_PROVIDER = "fake"


def cosine(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


class TestActive:
    @pytest.mark.parametrize(
        ("provider", "name", "dimensions"),
        [("minilm", "all-MiniLM-L6-v2-int8", 384), ("fake", "fake", 384)],
    )
    def test_it_is_the_one_of_the_settings(self, settings, provider, name, dimensions):
        settings.EMBEDDING_PROVIDER = provider

        active = active_model.get()

        assert (active.name, active.dimensions) == (name, dimensions)

    def test_it_is_made_once(self, fake_provider):
        assert active_model.get() is active_model.get()

    def test_it_is_made_again_when_a_setting_changes(self, fake_provider, settings):
        before = active_model.get()
        settings.EMBEDDING_TIMEOUT = 99

        assert active_model.get() is not before

    def test_it_is_made_again_in_a_forked_process(self, fake_provider, monkeypatch):
        before = active_model.get()
        monkeypatch.setattr(os, "getpid", lambda: -1)

        assert active_model.get() is not before

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_forked_process_begins_queries_by_threads_of_its_own(self, fake_provider):
        assert active_model.begin_query("before the fork").result(10)

        child = os.fork()
        if child == 0:
            try:
                active_model.begin_query("after the fork").result(10)
                os._exit(0)
            finally:
                os._exit(1)

        _, status = os.waitpid(child, 0)
        assert status == 0

    def test_an_unknown_name_is_refused_with_the_known_ones(self, settings):
        settings.EMBEDDING_PROVIDER = "cohere"

        with pytest.raises(ProviderMisconfiguration, match="it can be fake, minilm"):
            active_model.get()

    def test_a_language_model_is_not_used_by_default(self, settings):
        settings.LANGUAGE_PROVIDER = "none"

        assert language_model.from_settings() is None


class TestFake:
    def test_the_same_words_give_the_same_vector(self, fake_provider):
        one, two = active_model.get().embed(["Retry the call", "retry, the CALL!"])

        assert one == two
        assert math.isclose(math.hypot(*one), 1)

    def test_shared_words_bring_texts_nearer(self, fake_provider):
        texts = ["retry the failed call", "retry the broken call", "green apples"]
        one, near, far = active_model.get().embed(texts)

        assert cosine(one, near) > 0.6
        assert abs(cosine(one, far)) < 0.2

    @pytest.mark.parametrize("text", ["", "?!", "\ud800"])
    def test_a_text_without_words_has_a_vector_too(self, fake_provider, text):
        [vector] = active_model.get().embed([text])

        assert math.isclose(math.hypot(*vector), 1)


class TestOutage:
    def test_calls_fail_until_it_ends(self, fake_provider):
        with fake.outage(), pytest.raises(ProviderDown) as caught:
            active_model.get().embed(["a"])

        assert caught.value.retryable is True
        assert active_model.get().embed(["a"])

    def test_a_remembered_query_fails_too(self, fake_provider):
        active_model.embed_query("a")

        with fake.outage(), pytest.raises(ProviderDown):
            active_model.embed_query("a")


class TestQueries:
    def test_a_repeated_query_is_embedded_once(self, fake_provider, monkeypatch):
        calls = []
        embed = fake.FakeEmbedder.embed
        monkeypatch.setattr(
            fake.FakeEmbedder,
            "embed",
            lambda self, texts: calls.append(1) or embed(self, texts),
        )

        first, second = active_model.embed_query("a"), active_model.embed_query("a")

        assert first == second == active_model.get().embed(["a"])[0]
        assert len(calls) == 2

    def test_a_caller_may_change_its_vector(self, fake_provider):
        active_model.embed_query("a").clear()

        assert len(active_model.embed_query("a")) == 384

    def test_a_failure_is_not_remembered(self, fake_provider):
        with fake.outage(), pytest.raises(ProviderDown):
            active_model.embed_query("a")

        assert active_model.embed_query("a")

    def test_spaces_are_not_mixed(self, fake_provider, settings):
        of_fake = active_model.embed_query("a")
        settings.EMBEDDING_PROVIDER = "minilm"

        assert active_model.embed_query("a") != of_fake
