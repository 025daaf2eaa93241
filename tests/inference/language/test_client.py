from __future__ import annotations

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from pydantic import BaseModel

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
from inference.language import attempts, client, language_model, schemas
from inference.language.budget import DailyBudget
from inference.language.client import Question
from inference.language.fake import script_answers
from inference.language.language_model import Completion
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
    monkeypatch.setattr(attempts, "PAUSES", (0.001, 0.001))


@pytest.fixture
def account():
    return DailyBudget(project_id=uuid.uuid4(), run_id=uuid.uuid4())


def call_records():
    return list(ModelCall.objects.order_by("pk").values_list("outcome", "attempt"))


class TestAnswers:
    def test_it_answers_with_the_shape(self, account):
        with script_answers(GOOD) as asked:
            answer = client.ask(QUESTION, Shape, account)

        assert answer.value == Shape(**GOOD)
        assert answer.model == "fake"
        assert asked[0].system == "Be brief."

    def test_each_call_is_on_record(self, account, settings):
        settings.LANGUAGE_PRICE_IN, settings.LANGUAGE_PRICE_OUT = 0.5, 2.0
        with script_answers(Completion(GOOD, Usage(1_000, 500))):
            client.ask(QUESTION, Shape, account)

        call = ModelCall.objects.get()
        assert (call.project_id, call.run_id) == (account.project_id, account.run_id)
        assert (call.purpose, call.prompt_version) == ("reflector", "v-1")
        assert (call.prompt_tokens, call.answer_tokens) == (1_000, 500)
        assert call.cost == Decimal("0.0015")

    def test_an_answer_of_another_shape_is_told_what_is_wrong(self, account):
        with script_answers({**GOOD, "kind": "joke"}, GOOD) as asked:
            client.ask(QUESTION, Shape, account)

        assert "kind: Input should be 'tip' or 'trap'" in asked[1].prompt
        assert asked[1].prompt.startswith("What now?")
        assert call_records() == [("invalid", 1), ("answered", 2)]

    def test_only_one_answer_is_mended(self, account):
        with script_answers({}, {}, GOOD), pytest.raises(BadAnswer):
            client.ask(QUESTION, Shape, account)

        assert call_records() == [("invalid", 1), ("invalid", 2)]

    def test_a_declined_answer_is_not_asked_for_again(self, account):
        declined = BadAnswer(retryable=False, usage=Usage(40, 0))
        with script_answers(declined, GOOD), pytest.raises(BadAnswer):
            client.ask(QUESTION, Shape, account)

        assert ModelCall.objects.get().prompt_tokens == 40


class TestFailures:
    @pytest.mark.parametrize(
        "error", [ProviderDown(), ProviderTimeout(), RateLimitError(retry_after=0.001)]
    )
    def test_what_may_pass_is_tried_three_times(self, account, error):
        with script_answers(error, error, GOOD):
            client.ask(QUESTION, Shape, account)

        assert call_records() == [("failed", 1), ("failed", 2), ("answered", 3)]

    def test_the_fourth_time_is_not_tried(self, account):
        errors = [ProviderDown()] * 3
        with script_answers(*errors, GOOD), pytest.raises(ProviderDown):
            client.ask(QUESTION, Shape, account)

        assert len(call_records()) == 3

    def test_a_refusal_is_final(self, account):
        refusal = RequestRefusal("no", status=401)
        with script_answers(refusal, GOOD), pytest.raises(RequestRefusal):
            client.ask(QUESTION, Shape, account)

        assert call_records() == [("failed", 1)]

    def test_a_wait_that_is_too_long_is_not_waited(self, account):
        error = RateLimitError(retry_after=attempts.MAX_PAUSE + 1)
        with script_answers(error, GOOD), pytest.raises(RateLimitError):
            client.ask(QUESTION, Shape, account)

    def test_a_wait_beyond_the_runs_time_is_not_waited(self, account, settings):
        settings.LANGUAGE_TIMEOUT = 1
        error = RateLimitError(retry_after=5)
        with script_answers(error, GOOD), pytest.raises(RateLimitError):
            client.ask(QUESTION, Shape, account)

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
        with script_answers(GOOD) as asked:
            client.ask(QUESTION, Shape, account)

        assert 5 < asked[0].timeout <= 6

    def test_three_failed_questions_make_it_rest(self, account):
        with script_answers(*[ProviderDown()] * 9, GOOD) as asked:
            for _ in range(4):
                with pytest.raises(ProviderDown):
                    client.ask(QUESTION, Shape, account)

            assert len(asked) == 9
            language_model.from_settings().rests_until = 0.0
            assert client.ask(QUESTION, Shape, account).value.lesson == "retry"

    def test_without_a_model_it_says_so(self, account, settings):
        settings.LANGUAGE_PROVIDER = "none"

        with pytest.raises(ProviderMisconfiguration):
            client.ask(QUESTION, Shape, account)


class TestCaps:
    def test_a_call_that_could_pass_the_cap_is_not_made(self, account):
        small = DailyBudget(account.project_id, tokens_per_day=40)
        with script_answers(GOOD) as asked, pytest.raises(BudgetExceeded):
            client.ask(QUESTION, Shape, small)

        assert asked == []
        assert call_records() == []

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
        capped = DailyBudget(account.project_id, tokens_per_day=1_000)

        with script_answers(GOOD):
            assert client.ask(QUESTION, Shape, capped)

    def test_a_timeout_may_be_charged_so_its_prompt_counts(self, account):
        errors = [ProviderTimeout()] * 3
        with script_answers(*errors), pytest.raises(ProviderTimeout):
            client.ask(QUESTION, Shape, account)

        assert all(call.prompt_tokens == 6 for call in ModelCall.objects.all())


class TestTheSchema:
    def test_every_property_is_required_and_no_other_allowed(self):
        schema = schemas.strict_schema(Shape)

        assert schema["required"] == ["lesson", "kind", "items"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["kind"] == {
            "enum": ["tip", "trap"],
            "type": "string",
        }

    def test_a_property_may_be_called_like_a_keyword(self):
        item = schemas.strict_schema(Shape)["$defs"]["Item"]

        assert item["properties"] == {"title": {"type": "string"}}
