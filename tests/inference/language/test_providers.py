from __future__ import annotations

import json

import pytest

from inference.errors import (
    BadAnswer,
    ProviderDown,
    ProviderMisconfiguration,
    ProviderTimeout,
    RateLimitError,
    RequestRefusal,
    Usage,
)
from inference.language import fake, language_model
from inference.language.language_model import Completion

SCHEMA = {"type": "object", "properties": {"lesson": {"type": "string"}}}


def answer_with(content, *, reason="stop"):
    message = {"role": "assistant", "content": content}
    return {"choices": [{"message": message, "finish_reason": reason}]}


@pytest.fixture
def chosen(settings, endpoint):
    settings.LANGUAGE_PROVIDER = "openai"
    settings.LANGUAGE_URL = endpoint.url
    settings.LANGUAGE_API_KEY = "secret"
    settings.LANGUAGE_MODEL = "small"
    settings.LANGUAGE_TIMEOUT = 5
    endpoint.answer = lambda body: answer_with('{"lesson": "retry"}')


def ask():
    return language_model.from_settings().complete_json(
        system="Be brief.", prompt="What now?", schema=SCHEMA, max_tokens=50
    )


@pytest.mark.usefixtures("chosen")
class TestOpenAICompatible:
    def test_it_answers_with_the_object(self):
        assert ask() == Completion({"lesson": "retry"})

    @pytest.mark.parametrize(
        ("told", "usage"),
        [
            ({"prompt_tokens": 12, "completion_tokens": 3}, Usage(12, 3)),
            ({"prompt_tokens": -1, "completion_tokens": 3}, None),
            ({"prompt_tokens": 12}, None),
            ("much", None),
        ],
    )
    def test_it_tells_what_the_server_has_counted(self, endpoint, told, usage):
        endpoint.answer = lambda body: answer_with("{}") | {"usage": told}

        assert ask().usage == usage

    @pytest.mark.parametrize(
        "content",
        [
            'Sure:\n```json\n{"lesson": "retry"}\n```',
            '<think>maybe {"lesson": 1}</think>{"lesson": "retry"}',
            '{not this} {"lesson": "no"} {"lesson": "retry"}',
            'I think {"lesson": 1}, or not.\n</think>\n{"lesson": "retry"}',
            '<think>{"lesson": "retry"}</think> That is all.',
            '{"lesson": "…"} is the form.\n\n[{"lesson": "retry"}]\nIt has {"words": 5}.',
            '{"lesson": "retry"} {"lesson": "cut of',
            "{" * 150 + '{"lesson": "retry"}',
        ],
    )
    def test_the_object_is_found_between_other_words(self, endpoint, content):
        endpoint.answer = lambda body: answer_with(content)

        assert ask().answer == {"lesson": "retry"}

    @pytest.mark.parametrize("content", ["No idea.", '{"rule": 1}', '["lesson"]'])
    def test_without_such_an_object_the_error_has_the_words(self, endpoint, content):
        endpoint.answer = lambda body: answer_with(content)

        with pytest.raises(BadAnswer, match="the keys lesson") as refused:
            ask()

        assert content in refused.value.detail
        assert refused.value.text == content

    def test_the_call_asks_for_strict_json(self, endpoint):
        ask()

        [call] = endpoint.requests
        assert call["path"] == "/v1/chat/completions"
        assert call["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What now?"},
        ]
        assert call["max_tokens"] == 50
        assert call["response_format"]["json_schema"] == {
            "name": "answer",
            "strict": True,
            "schema": SCHEMA,
        }

    @pytest.mark.parametrize(
        "answer",
        [
            b"not json",
            {},
            {"choices": []},
            {"choices": [{"message": None}]},
            answer_with("{'lesson': 1}"),
            answer_with('{"lesson": '),
            answer_with("[]"),
            answer_with(json.dumps("text")),
            answer_with(["parts"]),
        ],
    )
    def test_a_broken_answer_is_worth_another_try(self, endpoint, answer):
        endpoint.answer = lambda body: answer

        with pytest.raises(BadAnswer) as caught:
            ask()

        assert caught.value.retryable is True

    @pytest.mark.parametrize(
        "answer",
        [
            answer_with('{"lesson": "re', reason="length"),
            answer_with(None),
            answer_with(""),
        ],
    )
    def test_a_cut_or_declined_answer_is_not(self, endpoint, answer):
        endpoint.answer = lambda body: answer

        with pytest.raises(BadAnswer) as caught:
            ask()

        assert caught.value.retryable is False

    def test_too_many_requests_say_when_to_come_back(self, endpoint):
        endpoint.status, endpoint.answer_headers = 429, {"Retry-After": "12"}

        with pytest.raises(RateLimitError) as caught:
            ask()

        assert caught.value.retry_after == 12.0

    def test_a_refused_schema_is_not_tried_again(self, endpoint):
        endpoint.status = 400

        with pytest.raises(RequestRefusal):
            ask()

        assert len(endpoint.requests) == 1

    def test_a_server_that_hangs_is_left_after_the_timeout(self, endpoint, settings):
        settings.LANGUAGE_TIMEOUT = 0.2
        endpoint.answer = endpoint.hang

        with pytest.raises(ProviderTimeout):
            ask()

    def test_an_answer_that_drips_is_left_after_the_timeout(self, endpoint, settings):
        settings.LANGUAGE_TIMEOUT = 0.2
        endpoint.answer_headers = {"drip": "yes"}

        with pytest.raises(ProviderTimeout):
            ask()

    def test_missing_settings_are_named(self, settings):
        settings.LANGUAGE_MODEL = ""

        with pytest.raises(ProviderMisconfiguration, match="LANGUAGE_MODEL"):
            ask()


class TestFake:
    @pytest.fixture(autouse=True)
    def chosen(self, settings):
        settings.LANGUAGE_PROVIDER = "fake"

    def test_it_gives_the_scripted_answers_in_turn(self):
        with fake.script_answers({"n": 1}, {"n": 2}) as calls:
            assert [ask().answer, ask().answer] == [{"n": 1}, {"n": 2}]

        assert calls[0].prompt == "What now?"

    def test_it_raises_a_scripted_error(self):
        with fake.script_answers(BadAnswer()), pytest.raises(BadAnswer):
            ask()

    def test_without_a_script_it_is_down(self):
        with pytest.raises(ProviderDown):
            ask()
