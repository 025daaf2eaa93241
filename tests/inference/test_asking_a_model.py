from __future__ import annotations

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from pydantic import BaseModel

from inference import calls, fake_language, language, schemas
from inference.accounts import Account
from inference.calls import Question
from inference.errors import (
    BadAnswer,
    CapReached,
    Misconfigured,
    ProviderDown,
    ProviderTimeout,
    RateLimited,
    Refused,
    Usage,
)
from inference.language import Completion
from inference.models import ModelCall

pytestmark = pytest.mark.django_db


class Item(BaseModel):
    title: str


class Shape(BaseModel):
    lesson: str
    kind: schemas.one_of(["tip", "trap"])
    items: list[Item]


GOOD = {"lesson": "retry", "kind": "tip", "items": [{"title": "a"}]}
QUESTION = Question("reflector", "v-1", "Be brief.", "What now?", 50)


@pytest.fixture(autouse=True)
def fake(settings, monkeypatch):
    settings.LANGUAGE_PROVIDER = "fake"
    monkeypatch.setattr(calls, "PAUSES", (0.001, 0.001))


@pytest.fixture
def account():
    return Account(project_id=uuid.uuid4(), run_id=uuid.uuid4())


def recorded():
    return list(ModelCall.objects.order_by("pk").values_list("outcome", "attempt"))


class TestAnswers:
    def test_it_answers_with_the_shape(self, account):
        with fake_language.scripted(GOOD) as asked:
            answer = calls.ask(QUESTION, Shape, account)

        assert answer.value == Shape(**GOOD)
        assert answer.model == "fake"
        assert asked[0].system == "Be brief."

    def test_each_call_is_on_record(self, account, settings):
        settings.LANGUAGE_PRICE_IN, settings.LANGUAGE_PRICE_OUT = 0.5, 2.0
        with fake_language.scripted(Completion(GOOD, Usage(1_000, 500))):
            calls.ask(QUESTION, Shape, account)

        call = ModelCall.objects.get()
        assert (call.project_id, call.run_id) == (account.project_id, account.run_id)
        assert (call.purpose, call.prompt_version) == ("reflector", "v-1")
        assert (call.prompt_tokens, call.answer_tokens) == (1_000, 500)
        assert call.cost == Decimal("0.0015")

    def test_an_answer_of_another_shape_is_told_what_is_wrong(self, account):
        with fake_language.scripted({**GOOD, "kind": "joke"}, GOOD) as asked:
            calls.ask(QUESTION, Shape, account)

        assert "kind: Input should be 'tip' or 'trap'" in asked[1].prompt
        assert asked[1].prompt.startswith("What now?")
        assert recorded() == [("invalid", 1), ("answered", 2)]

    def test_only_one_answer_is_mended(self, account):
        with fake_language.scripted({}, {}, GOOD), pytest.raises(BadAnswer):
            calls.ask(QUESTION, Shape, account)

        assert recorded() == [("invalid", 1), ("invalid", 2)]

    def test_a_declined_answer_is_not_asked_for_again(self, account):
        declined = BadAnswer(retryable=False, usage=Usage(40, 0))
        with fake_language.scripted(declined, GOOD), pytest.raises(BadAnswer):
            calls.ask(QUESTION, Shape, account)

        assert ModelCall.objects.get().prompt_tokens == 40


class TestFailures:
    @pytest.mark.parametrize(
        "error", [ProviderDown(), ProviderTimeout(), RateLimited(retry_after=0.001)]
    )
    def test_what_may_pass_is_tried_three_times(self, account, error):
        with fake_language.scripted(error, error, GOOD):
            calls.ask(QUESTION, Shape, account)

        assert recorded() == [("failed", 1), ("failed", 2), ("answered", 3)]

    def test_the_fourth_time_is_not_tried(self, account):
        errors = [ProviderDown()] * 3
        with fake_language.scripted(*errors, GOOD), pytest.raises(ProviderDown):
            calls.ask(QUESTION, Shape, account)

        assert len(recorded()) == 3

    def test_a_refusal_is_final(self, account):
        refusal = Refused("no", status=401)
        with fake_language.scripted(refusal, GOOD), pytest.raises(Refused):
            calls.ask(QUESTION, Shape, account)

        assert recorded() == [("failed", 1)]

    def test_a_wait_that_is_too_long_is_not_waited(self, account):
        error = RateLimited(retry_after=calls.LONGEST_PAUSE + 1)
        with fake_language.scripted(error, GOOD), pytest.raises(RateLimited):
            calls.ask(QUESTION, Shape, account)

    def test_a_wait_beyond_the_runs_time_is_not_waited(self, account, settings):
        settings.LANGUAGE_TIMEOUT = 1
        error = RateLimited(retry_after=5)
        with fake_language.scripted(error, GOOD), pytest.raises(RateLimited):
            calls.ask(QUESTION, Shape, account)

    def test_all_calls_of_a_run_share_its_time(self, account, settings):
        settings.LANGUAGE_TIMEOUT = 10
        ModelCall.objects.create(
            project_id=account.project_id,
            run_id=account.run_id,
            purpose="reflector",
            model="fake",
            outcome="answered",
            took_ms=4_000,
        )
        with fake_language.scripted(GOOD) as asked:
            calls.ask(QUESTION, Shape, account)

        assert 5 < asked[0].timeout <= 6

    def test_three_failed_questions_make_it_rest(self, account):
        with fake_language.scripted(*[ProviderDown()] * 9, GOOD) as asked:
            for _ in range(4):
                with pytest.raises(ProviderDown):
                    calls.ask(QUESTION, Shape, account)

            assert len(asked) == 9
            language.active().resting_until = 0.0
            assert calls.ask(QUESTION, Shape, account).value.lesson == "retry"

    def test_without_a_model_it_says_so(self, account, settings):
        settings.LANGUAGE_PROVIDER = "none"

        with pytest.raises(Misconfigured):
            calls.ask(QUESTION, Shape, account)


class TestCaps:
    def test_a_call_that_could_pass_the_cap_is_not_made(self, account):
        small = Account(account.project_id, tokens_per_day=40)
        with fake_language.scripted(GOOD) as asked, pytest.raises(CapReached):
            calls.ask(QUESTION, Shape, small)

        assert asked == []
        assert recorded() == []

    def test_yesterdays_calls_do_not_count(self, account):
        old = ModelCall.objects.create(
            project_id=account.project_id,
            purpose="reflector",
            model="fake",
            outcome="answered",
            prompt_tokens=900,
        )
        ModelCall.objects.filter(pk=old.pk).update(
            at=timezone.now() - timedelta(days=1, seconds=1)
        )
        capped = Account(account.project_id, tokens_per_day=1_000)

        with fake_language.scripted(GOOD):
            assert calls.ask(QUESTION, Shape, capped)

    def test_a_timeout_may_be_charged_so_its_prompt_counts(self, account):
        errors = [ProviderTimeout()] * 3
        with fake_language.scripted(*errors), pytest.raises(ProviderTimeout):
            calls.ask(QUESTION, Shape, account)

        assert all(call.prompt_tokens == 6 for call in ModelCall.objects.all())


class TestTheSchema:
    def test_every_property_is_required_and_no_other_allowed(self):
        schema = schemas.strict(Shape)

        assert schema["required"] == ["lesson", "kind", "items"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["kind"] == {
            "enum": ["tip", "trap"],
            "type": "string",
        }

    def test_a_property_may_be_called_like_a_keyword(self):
        item = schemas.strict(Shape)["$defs"]["Item"]

        assert item["properties"] == {"title": {"type": "string"}}
