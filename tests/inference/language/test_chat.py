from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal

import pytest

from inference.errors import (
    BadAnswer,
    BudgetExceeded,
    ProviderDown,
    ProviderMisconfiguration,
    ProviderTimeout,
    RateLimitError,
    RequestRefusal,
    Usage,
)
from inference.language import attempts, chat, language_model
from inference.language.budget import DailyBudget
from inference.language.chat_pieces import (
    ChatEnd,
    ChatRequest,
    ChatText,
    FunctionCallPiece,
)
from inference.language.fake import ScriptedChat, script_chat
from inference.models import ModelCall
from tests.agents.conftest import model as model
from tests.agents.scripted_endpoint import Reply, call, fail, raw, say

pytestmark = pytest.mark.django_db

SEARCH = {"type": "function", "function": {"name": "search", "parameters": {}}}


@pytest.fixture
def account():
    return DailyBudget(project_id=uuid.uuid4(), run_id=uuid.uuid4())


def turn_of(account, *, seconds=20.0, **fields):
    fields = {"messages": [{"role": "user", "content": "What now?"}], **fields}
    question = chat.ChatQuestion(
        "agent", "v-1", max_tokens=50, deadline=time.monotonic() + seconds, **fields
    )
    return chat.ChatTurn(question, account)


def ask(account, **fields):
    return list(turn_of(account, **fields).pieces())


def text_of(pieces):
    return "".join(each.text for each in pieces if isinstance(each, ChatText))


def call_records():
    return list(ModelCall.objects.order_by("pk").values_list("outcome", "attempt"))


class TestAnswers:
    def test_the_pieces_come_as_the_model_says_them(self, account, model):
        model.script(say("Grüße 🙂", piece=3, usage=(12, 5)))

        pieces = ask(account)

        assert pieces == [
            ChatText("Grü"),
            ChatText("ße "),
            ChatText("🙂"),
            ChatEnd("stop", Usage(12, 5)),
        ]

    def test_the_first_piece_comes_before_the_model_has_ended(self, account, model):
        rest = threading.Event()
        model.script(say("abcd", piece=2, wait_at={2: rest}))

        pieces = turn_of(account).pieces()

        assert next(pieces) == ChatText("ab")
        rest.set()
        assert next(pieces) == ChatText("cd")
        pieces.close()

    def test_a_write_of_every_byte_makes_no_difference(self, account, model):
        model.script(say("Grüße 🙂", piece=1, write=1, usage=(12, 5)))

        assert text_of(ask(account)) == "Grüße 🙂"

    def test_calls_of_functions_come_in_pieces(self, account, model):
        model.script(call("search", {"q": "x"}, piece=5, text="Look."))

        pieces = ask(account, functions=[SEARCH])

        assert pieces[:2] == [
            ChatText("Look."),
            FunctionCallPiece(0, "call_0", "search"),
        ]
        assert "".join(each.arguments for each in pieces[1:-1]) == '{"q": "x"}'
        assert pieces[-1].reason == "tool_calls"

    def test_the_request_says_what_is_asked_for(self, account, model):
        model.script(say("a"))

        ask(account, functions=[SEARCH], stop=["\nObservation:"])

        [body] = model.requests
        assert body["path"] == "/v1/chat/completions"
        assert body["messages"] == [{"role": "user", "content": "What now?"}]
        assert (body["model"], body["max_tokens"]) == ("small", 50)
        assert body["tools"] == [SEARCH]
        assert body["stop"] == ["\nObservation:"]
        assert body["stream_options"] == {"include_usage": True}
        assert model.authorizations == ["Bearer secret"]

    def test_without_functions_and_stop_words_it_names_none(self, account, model):
        model.script(say("a"))

        ask(account)

        assert not {"tools", "stop"} & set(model.requests[0])

    def test_a_server_that_never_streams_is_read(self, account, model):
        model.script(say("abc", is_streamed=False, usage=(3, 1)))

        assert ask(account) == [ChatText("abc"), ChatEnd("stop", Usage(3, 1))]

    def test_an_answer_that_was_cut_says_so(self, account, model):
        model.script(say("abc", reason="length"))

        assert ask(account)[-1].reason == "length"


class TestConcurrency:
    def test_turns_at_the_same_time_get_their_own_answers(self, model):
        model.respond = lambda body: say(body["messages"][0]["content"] * 50, piece=7)
        provider = language_model.from_settings()

        def chat_about(word):
            request = ChatRequest([{"role": "user", "content": word}], 50)
            return text_of(provider.chat(request, timeout=20))

        words = [f"word{number} " for number in range(12)]
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(chat_about, words))

        assert answers == [word * 50 for word in words]


class TestForms:
    def test_a_server_that_refuses_to_count_is_not_asked_to(self, account, model):
        model.script(fail(400, "unknown field stream_options"), say("a"), say("b"))

        assert text_of(ask(account)) + text_of(ask(account)) == "ab"
        assert "stream_options" not in model.requests[1] | model.requests[2]
        assert call_records() == [("failed", 1), ("answered", 2), ("answered", 1)]

    def test_a_server_that_refuses_to_stream_is_asked_for_all_at_once(
        self, account, model
    ):
        model.script(fail(400), fail(400, "no streaming"), say("a"))

        assert text_of(ask(account)) == "a"
        assert "stream" not in model.requests[2]

    def test_a_request_that_is_refused_in_every_form_is_refused(self, account, model):
        model.script(*[fail(400, "too long")] * 3, say("a"))

        with pytest.raises(RequestRefusal, match="too long"):
            ask(account)
        assert model.requests[0].get("stream_options")
        ask(account)
        assert model.requests[3].get("stream_options")

    def test_a_model_that_refuses_stop_words_gets_none(self, account, model):
        model.script(fail(400, "'stop' is not supported"), say("a"))

        assert text_of(ask(account, stop=["x"])) == "a"
        assert "stop" not in model.requests[1]
        assert "stream_options" in model.requests[1]

    def test_a_newer_model_gets_its_own_name_of_the_limit(self, account, model):
        model.script(fail(400, "use max_completion_tokens"), say("a"))

        assert text_of(ask(account)) == "a"
        assert model.requests[1]["max_completion_tokens"] == 50


class TestFailures:
    @pytest.mark.parametrize(
        "reply",
        [
            fail(429, retry_after="0.001"),
            fail(503),
            raw(b"<html>no</html>"),
            raw(b"data: {nothing}\n\n"),
            Reply(cut_after=0),
            say("abc", cut_after=1),
            Reply(raw=b"{", raw_type="application/json"),
        ],
        ids=["busy", "down", "page", "garbage", "nothing", "no piece", "half"],
    )
    def test_what_fails_before_the_first_piece_is_tried_again(
        self, account, model, reply
    ):
        model.script(reply, say("abc"))

        assert text_of(ask(account)) == "abc"
        assert len(call_records()) == 2

    def test_the_fourth_time_is_not_tried(self, account, model):
        model.script(*[fail(503)] * 3, say("abc"))

        with pytest.raises(ProviderDown):
            ask(account)
        assert call_records() == [("failed", 1), ("failed", 2), ("failed", 3)]

    def test_half_an_answer_is_not_tried_again(self, account, model):
        model.script(say("abcdef", piece=2, cut_after=3), say("again"))
        pieces = []

        with pytest.raises(ProviderDown):
            pieces.extend(turn_of(account).pieces())
        assert len(model.requests) == 1
        assert call_records() == [("failed", 1)]
        assert ModelCall.objects.get().answer_tokens == 1

    def test_an_answer_without_an_end_is_half_an_answer(self, account, model):
        events = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
        model.script(raw(events), say("again"))

        with pytest.raises(ProviderDown, match="before it was complete"):
            ask(account)

    def test_garbage_between_the_pieces_is_a_bad_answer(self, account, model):
        events = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: {\n\n'
        model.script(raw(events), say("again"))

        with pytest.raises(BadAnswer):
            ask(account)
        assert call_records() == [("invalid", 1)]

    def test_a_missing_done_is_no_failure(self, account, model):
        model.script(say("abc", has_done=False))

        assert text_of(ask(account)) == "abc"

    def test_a_wait_that_is_too_long_is_not_waited(self, account, model):
        model.script(fail(429, retry_after=str(attempts.MAX_PAUSE + 1)), say("a"))

        with pytest.raises(RateLimitError) as caught:
            ask(account)
        assert caught.value.retry_after == attempts.MAX_PAUSE + 1

    def test_a_refusal_is_final(self, account, model):
        model.script(fail(401), say("a"))

        with pytest.raises(RequestRefusal):
            ask(account)

    def test_a_server_that_hangs_is_left_after_the_timeout(
        self, account, model, settings
    ):
        settings.LANGUAGE_TIMEOUT = 0.2
        model.script(say("a", wait=threading.Event()))

        with pytest.raises(ProviderTimeout):
            ask(account)
        assert ModelCall.objects.get().prompt_tokens > 0

    def test_a_server_that_hangs_half_way_is_left_after_the_timeout(
        self, account, model
    ):
        model.script(say("abcd", piece=2, wait_at={2: threading.Event()}))

        with pytest.raises(ProviderTimeout):
            ask(account, seconds=0.3)

    def test_a_deadline_that_has_passed_asks_nothing(self, account, model):
        with pytest.raises(ProviderTimeout):
            ask(account, seconds=-1)
        assert model.requests == []

    def test_three_failed_turns_make_the_model_rest(self, account, model):
        model.script(*[fail(503)] * 9, say("a"))
        for _ in range(3):
            with pytest.raises(ProviderDown):
                ask(account)

        with pytest.raises(ProviderDown, match="rests"):
            ask(account)
        assert len(model.requests) == 9

    def test_without_a_model_it_says_so(self, account, settings):
        settings.LANGUAGE_PROVIDER = "none"

        with pytest.raises(ProviderMisconfiguration):
            ask(account)


class TestRecord:
    def test_each_call_is_on_record(self, account, model, settings):
        settings.LANGUAGE_PRICE_IN, settings.LANGUAGE_PRICE_OUT = 0.5, 2.0
        model.script(say("abc", usage=(1_000, 500)))

        turn = turn_of(account)
        list(turn.pieces())

        row = ModelCall.objects.get()
        assert (row.project_id, row.run_id) == (account.project_id, account.run_id)
        assert (row.purpose, row.prompt_version, row.model) == ("agent", "v-1", "small")
        assert (row.prompt_tokens, row.answer_tokens) == (1_000, 500)
        assert row.cost == Decimal("0.0015")
        assert turn.usage == Usage(1_000, 500)

    def test_the_usage_is_estimated_if_the_server_counts_nothing(self, account, model):
        model.script(say("abcdefgh"))

        pieces = ask(account)

        assert pieces[-1].usage.answer_tokens == 2
        assert pieces[-1].usage.prompt_tokens > 2

    def test_a_turn_that_is_closed_counts_what_has_come(self, account, model):
        reply = say("x" * 400_000, piece=40)
        model.script(reply)
        turn = turn_of(account)

        with closing(turn.pieces()) as pieces:
            next(pieces)

        assert turn.usage.answer_tokens == 10
        assert call_records() == [("answered", 1)]
        assert reply.left.wait(5)

    def test_a_turn_that_could_pass_the_cap_is_not_asked(self, model, account):
        small = DailyBudget(account.project_id, tokens_per_day=40)

        with pytest.raises(BudgetExceeded):
            ask(small)
        assert model.requests == []


class TestFake:
    @pytest.fixture(autouse=True)
    def chosen(self, settings):
        settings.LANGUAGE_PROVIDER = "fake"

    def test_it_says_the_scripted_turns(self, account):
        with script_chat("hello", ScriptedChat(calls=[("f", {"x": 1})])) as asked:
            first, second = ask(account), ask(account)

        assert text_of(first) == "hello"
        assert second[0] == FunctionCallPiece(0, "call-0", "f")
        assert asked[0].messages[0]["content"] == "What now?"

    def test_a_function_may_answer(self, account):
        with script_chat(lambda request: f"{len(request.messages)} message"):
            assert text_of(ask(account)) == "1 message"

    def test_it_fails_as_scripted(self, account):
        half = ScriptedChat("half an", error=ProviderDown())
        with script_chat(half), pytest.raises(ProviderDown):
            ask(account)

    def test_without_a_script_it_is_down(self, account, monkeypatch):
        monkeypatch.setattr(attempts, "PAUSES", (0.0, 0.0))
        with script_chat(), pytest.raises(ProviderDown):
            ask(account)
        assert language_model.from_settings().failures == 1
