"""What people ask for in two sessions, in other words."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ace.models import AceRun, Observation
from ace.reflect import reflector_phase, repeated_wishes
from playbook.models import PlaybookDelta
from tests.isolation.test_secrets_at_every_route import stored_in

URL = "/api/v1/complete-task"
# The provider of the tests gives texts with the same words near vectors.
FIRST = "Can you add unit tests for the parser module?"
AGAIN = "please add unit tests for the parser module"


def asked(goal, **more):
    return {
        "agent_id": "desk",
        "goal": goal,
        "result": "Done.",
        "outcome": "success",
        "tool_usage": [],
    } | more


@pytest.fixture
def complete(alice_api, project):
    def post(goal, **more):
        body = {"project_id": str(project.pk), **asked(goal, **more)}
        answer = alice_api.post(URL, body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


def contents(result):
    return [lesson["content"] for lesson in result["lessons"]]


LESSON = (
    "Make sure to add unit tests for the parser module: "
    "people asked for it in more than one session."
)


@pytest.mark.django_db
class TestSaidTwice:
    def test_the_first_telling_is_kept_and_is_no_rule(self, complete):
        assert complete(FIRST)["lessons"] == []

        kept = Observation.objects.get()
        assert kept.root_cause == "WISH"
        assert kept.seen["quote"] == FIRST

    def test_a_second_telling_is_proposed_and_names_the_first(self, complete):
        first = complete(FIRST)

        second = complete(AGAIN)

        assert contents(second) == [LESSON]
        delta = PlaybookDelta.objects.get()
        assert delta.status == PlaybookDelta.DeltaStatus.PENDING
        assert [quote["quote"] for quote in delta.evidence] == [AGAIN]
        assert delta.reason.endswith(f" Run {first['run_id']} had it before.")

    def test_a_purge_of_the_first_leaves_its_words_nowhere(self, complete, alice_api):
        first = complete(FIRST)
        complete(AGAIN)
        assert "ace_observation" in stored_in(FIRST)

        purged = alice_api.post(
            "/api/v1/purge",
            {"project": "alpha", "reason": "Asked.", "ids": [first["memory_id"]]},
        )

        assert purged.status_code == 200, purged.content
        assert stored_in(FIRST) == []
        assert PlaybookDelta.objects.get().content == LESSON

    def test_it_is_never_live_without_a_person(self, complete, project):
        project.settings = {**project.settings, "policy": "auto"}
        project.save()
        complete("Mend it", feedback=FIRST, feedback_source="human")

        complete("Mend it", feedback=AGAIN, feedback_source="human")

        delta = PlaybookDelta.objects.get(content=LESSON)
        assert delta.status == PlaybookDelta.DeltaStatus.PENDING

    def test_a_third_telling_adds_nothing(self, complete):
        tellings = [contents(complete(goal)) for goal in (FIRST, AGAIN, FIRST)]

        assert tellings == [[], [LESSON], []]

    def test_a_second_telling_in_the_same_session_is_no_lesson(self, complete):
        tellings = [
            contents(complete(goal, session_id="s1")) for goal in (FIRST, AGAIN)
        ]

        assert tellings == [[], []]

    def test_who_insists_on_the_first_day_is_heard_on_the_second(self, complete):
        days = [(FIRST, "s1"), (AGAIN, "s1"), (AGAIN, "s2"), (FIRST, "s3")]

        tellings = [contents(complete(goal, session_id=day)) for goal, day in days]

        assert tellings == [[], [], [LESSON], []]

    def test_a_lesson_is_known_however_often_the_wish_was_told_since(
        self, complete, monkeypatch
    ):
        monkeypatch.setattr(repeated_wishes, "MAX_COMPARED", 1)

        tellings = [contents(complete(goal)) for goal in (FIRST, AGAIN, FIRST, FIRST)]

        assert tellings == [[], [LESSON], [], []]

    def test_two_sessions_that_end_together_are_stored_in_turn(self, complete):
        with CaptureQueriesContext(connection) as queries:
            complete(FIRST)

        sql = [query["sql"] for query in queries]
        stored = next(i for i, q in enumerate(sql) if 'INTO "ace_observation"' in q)
        begun = max(i for i, q in enumerate(sql[:stored]) if "SAVEPOINT" in q[:9])
        locks = [q for q in sql[begun:stored] if "FOR NO KEY UPDATE" in q]
        assert any('"playbook_playbook"' in lock for lock in locks)

    def test_reflecting_again_gives_the_same(self, complete, alice):
        complete(FIRST)
        second = complete(AGAIN)

        run = AceRun.objects.get(pk=second["run_id"])

        assert contents(reflector_phase.reflect(run, alice)) == [LESSON]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (FIRST, "please translate the whole manual into French"),
            ("Can you fix this?", "Can you fix this?"),
            ("why do the unit tests fail?", "why do the unit tests fail?"),
            ("please add a column to `orders`", "please add a column to `orders`"),
            ("Book a seat to Porto", "Book a seat to Porto"),
        ],
    )
    def test_another_wish_a_question_or_one_thing_is_no_rule(
        self, complete, first, second
    ):
        complete(first)

        assert complete(second)["lessons"] == []

    def test_another_project_hears_nothing_of_it(
        self, complete, charlie_api, other_project
    ):
        complete(FIRST)
        body = {"project_id": str(other_project.pk), **asked(AGAIN)}

        assert charlie_api.post(URL, body).json()["lessons"] == []
