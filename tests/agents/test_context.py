"""The prompt of a question for people who run their own loop."""

from __future__ import annotations

import pytest

from agents.tiers.episodes import EpisodeDraft, store_episode
from agents.tiers.facts import FactDraft, store_fact
from common.caller import Role
from conversations.invocations import record
from conversations.models import Session
from inference import tokens
from playbook.lessons import person_edits
from playbook.models import Exposure

pytestmark = pytest.mark.django_db
URL = "/api/v1/context/invocation"
QUESTION = "Why does the invoice export fail?"


@pytest.fixture
def ask(alice_api, project):
    def post(api=alice_api, **fields):
        body = {"project_id": str(project.pk), "question": QUESTION, **fields}
        return api.post(URL, body, format="json")

    return post


@pytest.fixture
def rule(project, alice):
    draft = {"content": QUESTION, "category": "general"}
    wanted = person_edits.addition(draft, alice, reason="")
    return person_edits.submit_edit(project, wanted, alice).entry


@pytest.fixture
def known(project, alice, rule):
    """Mia's fact, episode and conversation, and a rule, by its kind."""
    fact = FactDraft("The invoice export fails when the disk is full.", user="mia")
    episode = EpisodeDraft(
        "Mend the invoice export", ["look"], "ran", "ask", user="mia"
    )
    session = record.begin_conversation(project, "support", "mia", alice)
    invocation = record.append_invocation(session, "Is it red?", "looked", "no", alice)
    return {
        "fact": str(store_fact(project, fact, alice).pk),
        "episode": str(store_episode(project, episode, alice).pk),
        "rule": str(rule.pk),
        "invocation": str(invocation.pk),
    }


def parts_of(answer):
    return {part["name"]: part for part in answer.json()["parts"]}


def test_it_gives_the_parts_in_order_with_ids_and_reasons(ask, known):
    answer = ask(user="mia", conversation_id="support", state="at night")

    assert answer.status_code == 200
    parts = parts_of(answer)
    assert list(parts) == [
        "system",
        "digest",
        "conversation",
        "working_memory",
        "question",
    ]
    given = {
        item["kind"]: (item, part["text"])
        for part in parts.values()
        for item in part["items"]
    }
    assert {kind: item["id"] for kind, (item, _) in given.items()} == known
    for item, text in given.values():
        assert item["at"]
        assert item["why"]
        assert item["text"] in text
    assert answer.json()["memory"] == {
        "facts": [known["fact"]],
        "episodes": [known["episode"]],
        "digest": [],
        "entries": [known["rule"]],
        "invocations": [known["invocation"]],
        "error": None,
    }
    assert answer.json()["error"] is None


def test_text_and_messages_have_the_same_words(ask, known):
    answer = ask(user="mia").json()

    texts = [part["text"] for part in answer["parts"] if part["text"]]
    assert answer["system"] == texts[0]
    assert answer["text"] == "\n\n".join(texts[1:])
    assert answer["messages"] == [
        {"role": "system", "content": answer["system"]},
        {"role": "user", "content": answer["text"]},
    ]
    assert answer["tokens"] == sum(
        tokens.estimate(answer[name]) for name in ("system", "text")
    )


def test_it_has_no_protocol_because_the_caller_has_its_own(ask):
    assert "Final Answer:" not in ask().json()["system"]


def test_a_small_budget_says_what_was_cut(ask, project, alice):
    for number in range(5):
        text = f"The invoice export fails for reason {number}: {'it is late ' * 30}"
        store_fact(project, FactDraft(text), alice)

    answer = ask(token_budget=600)

    part = parts_of(answer)["digest"]
    assert part["tokens"] <= 270
    assert part["cut"].startswith("facts: ")
    assert f"digest: {part['cut']}" in answer.json()["cut"]
    assert len(part["items"]) < 5
    assert answer.json()["memory"]["facts"] == [item["id"] for item in part["items"]]


def test_only_rules_that_have_room_count_as_given(ask, rule):
    assert Exposure.objects.count() == 0

    ask()

    [exposure] = Exposure.objects.all()
    assert exposure.entry_id == rule.pk
    assert exposure.source == Exposure.ExposureSource.CONTEXT


def test_a_rule_without_room_is_no_exposure(ask, rule, project):
    project.settings = {"agents": {"templates": {"rules": f"{'x' * 9_000}\n$items"}}}
    project.save()

    answer = ask(token_budget=500)

    assert "rules: 1 of 1 left out" in parts_of(answer)["digest"]["cut"]
    assert not Exposure.objects.exists()


def test_a_viewer_may_ask(ask, client_of, project, known):
    viewer = client_of(project, role=Role.VIEWER)

    answer = ask(viewer, user="mia", conversation_id="support")

    assert answer.status_code == 200
    assert parts_of(answer)["conversation"]["items"]


class TestRefusals:
    def test_a_conversation_that_the_user_lacks_is_given_nothing_of_it(
        self, ask, known
    ):
        before = Session.objects.count()
        answers = [
            ask(user="tom", conversation_id="support"),
            ask(conversation_id="support"),
            ask(user="mia", conversation_id="none"),
        ]

        for answer in answers:
            assert answer.status_code == 200
            assert not parts_of(answer)["conversation"]["items"]
        assert Session.objects.count() == before

    def test_another_users_name_is_a_404_for_a_bound_key(self, ask, client_of, project):
        toms = client_of(project, role=Role.WRITER, user_id="tom")

        assert ask(toms, user="mia").status_code == 404
        assert ask(toms).status_code == 200

    def test_charlie_gets_a_404(self, ask, charlie_api):
        assert ask(charlie_api).status_code == 404

    @pytest.mark.parametrize(
        "fields",
        [
            {"question": ""},
            {"question": "x" * 20_001},
            {"token_budget": 499},
            {"token_budget": 1_000_001},
            {"unknown": 1},
            {"user": "x" * 300},
        ],
    )
    def test_a_wrong_body_is_a_400(self, ask, fields):
        assert ask(**fields).status_code == 400

    def test_the_longest_question_is_answered(self, ask):
        answer = ask(question="why " * 5_000, state="now " * 2_000)

        assert answer.status_code == 200
        assert answer.json()["memory"]["error"] is None
