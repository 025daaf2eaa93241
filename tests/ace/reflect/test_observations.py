from __future__ import annotations

import threading

import pytest
from django.db import connection

from ace import run as runs
from ace.models import AceRun, Observation
from ace.reflect import observations, reflector_phase
from ace.rules import task as tasks
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.review import decide

URL = "/api/v1/complete-task"


def booking(
    error="Error: payment amount must match, it does not add up, total price is 310",
    **more,
):
    return {
        "agent_id": "desk",
        "goal": "Book a seat to Porto",
        "result": "I could not book the seat.",
        "outcome": "failure",
        "feedback": "reward 0",
        "feedback_source": "environment",
        "tool_usage": [
            {
                "tool_name": "book_seat",
                "arguments": {"flight": "HAT7", "amount": 300},
                "result": error,
            }
        ],
    } | more


def linted(line):
    call = {
        "tool_name": "Bash",
        "arguments": {"command": "make lint"},
        "status": "failed",
    }
    return booking(tool_usage=[call | {"result": f"$ detekt\n{line}"}])


# The same trouble, mended.
MENDED = booking(
    outcome="success",
    result="Booked.",
    tool_usage=[
        *booking("Error: cabin is a required field")["tool_usage"],
        {
            "tool_name": "book_seat",
            "arguments": {"flight": "HAT7", "amount": 300, "cabin": "basic"},
            "result": '{"seat": "12A"}',
        },
    ],
)


@pytest.fixture
def complete(alice_api, project):
    def post(body):
        answer = alice_api.post(URL, {"project_id": str(project.pk), **body})
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


def contents(result):
    return [lesson["content"] for lesson in result["lessons"]]


LESSON = (
    "When calling `book_seat`, check the values against each other before the call: "
    '"payment amount must match, it does not add up".'
)


@pytest.mark.django_db
class TestSecondSighting:
    def test_the_first_run_gives_no_lesson_and_stores_the_error(self, complete):
        result = complete(booking())

        assert result["lessons"] == []
        kept = Observation.objects.get()
        assert str(kept.run_id) == result["run_id"]
        assert kept.root_cause == "VALUE_MISMATCH"
        assert "does not add up" in kept.seen["quote"]

    def test_a_second_run_with_the_error_gives_a_lesson(self, complete):
        first = complete(booking())

        second = complete(
            booking(
                "Error: payment amount must match, it does not add up, total price is 95"
            )
        )

        assert contents(second) == [LESSON]
        delta = PlaybookDelta.objects.get()
        assert str(delta.run_id) == second["run_id"]
        assert first["run_id"] in delta.reason
        assert delta.status == PlaybookDelta.DeltaStatus.APPLIED

    def test_its_quotes_are_from_the_second_run(self, complete):
        complete(booking())
        run_id = complete(booking())["run_id"]

        task = tasks.parse(AceRun.objects.get(pk=run_id).request)
        quotes = PlaybookDelta.objects.get().evidence
        assert [
            task.text(quote["field"])[quote["start"] : quote["end"]] for quote in quotes
        ] == [quote["quote"] for quote in quotes]

    def test_another_error_is_another_observation(self, complete):
        complete(booking())

        assert complete(booking("Error: flight is full"))["lessons"] == []

    def test_the_same_error_of_another_tool_is_another_observation(self, complete):
        complete(booking())
        call = booking()["tool_usage"][0] | {"tool_name": "book_room"}

        assert complete(booking(tool_usage=[call]))["lessons"] == []

    def test_what_is_learned_on_an_unknown_outcome_waits(self, complete):
        unknown = booking(outcome="unknown", feedback="")
        complete(unknown)

        assert contents(complete(unknown)) == [LESSON]
        assert PlaybookDelta.objects.get().status == PlaybookDelta.DeltaStatus.PENDING

    def test_the_rule_of_a_linter_is_the_same_in_other_files_and_words(self, complete):
        complete(linted("src/a.kt:3:9: Unused return value of `open` (unused-result)"))
        second = complete(
            linted("src/b.kt:77:1: Unused return value of `close` (unused-result)")
        )

        assert contents(second) == [
            "When writing Kotlin code, avoid what `unused-result` reports: "
            '"Unused return value of".'
        ]

    def test_what_differs_between_the_two_runs_is_left_out(self, complete):
        said = (
            "src/{}.kt:3:9: Parameter {} is never read, so drop it (unused-parameter)"
        )
        complete(linted(said.format("a", "height")))
        second = complete(linted(said.format("b", "width")))

        assert contents(second) == [
            "When writing Kotlin code, avoid what `unused-parameter` reports: "
            '"is never read, so drop it".'
        ]

    def test_a_rule_that_says_something_else_is_no_lesson_yet(self, complete):
        complete(linted("src/a.kt:3:9: Some comment without a reason (comments)"))
        second = complete(linted("src/b.kt:3:9: Blank lines around a block (comments)"))

        assert contents(second) == []

    def test_another_rule_of_the_same_linter_is_another_observation(self, complete):
        complete(linted("src/a.kt:3:9: S101: bad name (detekt)"))

        assert (
            complete(linted("src/a.kt:3:9: S204: shell call (detekt)"))["lessons"] == []
        )

    def test_how_a_shell_or_a_test_failed_is_no_lesson_of_a_second_run(self, complete):
        for command, result in (
            ("ls lib", "ls: lib: No such file or directory"),
            ("go test ./...", "--- FAIL: TestOrder (0.0s)"),
        ):
            call = {"tool_name": "Bash", "arguments": {"command": command}}
            body = booking(tool_usage=[call | {"result": result, "status": "failed"}])

            assert [complete(body)["lessons"] for _ in range(2)] == [[], []]

    def test_a_waiting_lesson_is_not_proposed_again_in_other_words(
        self, complete, project
    ):
        project.settings = {**project.settings, "policy": "manual"}
        project.save()
        for number in range(3):
            complete(
                linted(
                    f"src/{number}.kt:3:9: Unused return value of `v{number}` (unused-result)"
                )
            )

        assert PlaybookDelta.objects.count() == 1

    def test_the_lesson_names_the_number_of_runs(self, complete):
        unknown = booking(outcome="unknown", feedback="")
        first, *_ = [complete(unknown) for _ in range(2)]

        reason = PlaybookDelta.objects.get().reason
        assert f"Run {first['run_id']} showed it before; 2 runs" in reason

    def test_only_the_newest_runs_are_counted(self, complete, monkeypatch):
        monkeypatch.setattr(observations, "MAX_RUNS", 1)
        unknown = booking(outcome="unknown", feedback="")
        first, *_ = [complete(unknown) for _ in range(2)]

        reason = PlaybookDelta.objects.get().reason
        assert f"Run {first['run_id']} showed it before; more than 1 runs" in reason

    def test_another_project_sees_nothing_of_it(
        self, complete, charlie_api, other_project
    ):
        complete(booking())
        body = {"project_id": str(other_project.pk), **booking()}

        assert charlie_api.post(URL, body).json()["lessons"] == []


@pytest.mark.django_db
class TestRepetition:
    def test_reflecting_again_on_the_first_run_gives_no_lesson(self, complete, alice):
        first = complete(booking())
        complete(booking())

        again = reflector_phase.reflect(AceRun.objects.get(pk=first["run_id"]), alice)

        assert again["lessons"] == []

    def test_reflecting_again_on_the_second_run_gives_the_same(self, complete, alice):
        complete(booking())
        second = complete(booking())

        again = reflector_phase.reflect(AceRun.objects.get(pk=second["run_id"]), alice)

        assert contents(again) == contents(second)
        assert Observation.objects.count() == 2

    def test_a_resumed_run_whose_curator_failed_gives_one_lesson(
        self, complete, alice, monkeypatch
    ):
        complete(booking())

        def fail(run, caller):
            raise ConnectionError("the database went away")

        monkeypatch.setitem(runs.PHASES, "curator", fail)
        second = complete(booking())
        monkeypatch.undo()
        run = runs.resume(AceRun.objects.get(pk=second["run_id"]), alice)

        assert run.state == AceRun.RunState.DONE
        assert [delta.content for delta in PlaybookDelta.objects.all()] == [LESSON]

    def test_a_third_run_adds_no_second_entry(self, complete):
        lessons = [complete(booking())["lessons"] for _ in range(3)]

        assert [len(each) for each in lessons] == [0, 1, 0]
        entry = PlaybookEntry.objects.current().get()
        # That the trouble came again says nothing for the entry.
        assert (entry.helpful, entry.harmful) == (0, 0)


@pytest.mark.django_db
class TestRemedy:
    ERROR = "Error: cabin is a required field"

    def test_an_error_that_a_run_resolved_gives_no_general_lesson(self, complete):
        mended = contents(complete(MENDED))

        later = complete(booking(self.ERROR))

        assert any("cabin" in content for content in mended)
        assert later["lessons"] == []

    def test_a_later_fix_proposes_to_retire_the_general_lesson(self, complete):
        complete(booking(self.ERROR))
        general = complete(booking(self.ERROR))["updated_bullets"][0]

        complete(MENDED)

        delta = PlaybookDelta.objects.get(operation="deprecate")
        assert str(delta.entry_id) == general["id"]
        assert "pass `cabin`" in delta.reason

    def test_a_rejected_retirement_is_not_proposed_again(self, complete, alice):
        for body in (booking(self.ERROR), booking(self.ERROR), MENDED):
            complete(body)
        delta = PlaybookDelta.objects.get(operation="deprecate")
        complete(MENDED | {"goal": "Book a seat to Faro"})
        decide.reject(delta, alice, reason="It helps in other cases.")

        complete(MENDED | {"goal": "Book a seat to Lagos"})

        assert PlaybookDelta.objects.get(operation="deprecate") == delta


@pytest.mark.django_db
class TestQuotes:
    def test_their_spans_are_right_after_masking_and_with_any_text(self, complete):
        told = (
            "Error: \U0001f600 token ghp_0123456789abcdefghijABCDEFGHIJ012345\r\n"
            "payment amount must match, it does not add up, total price is 310\r\n"
        )
        complete(booking(told))
        run_id = complete(booking(told))["run_id"]

        run = AceRun.objects.get(pk=run_id)
        task = tasks.parse(run.request)
        quotes = [
            *run.reflection.evidence,
            *(q for delta in PlaybookDelta.objects.all() for q in delta.evidence),
            *(row.seen for row in run.observations.all()),
        ]
        assert "ghp_" not in str(run.request)
        assert len(quotes) >= 3
        for quote in quotes:
            text = task.text(quote["field"])
            assert text[quote["start"] : quote["end"]] == quote["quote"]


@pytest.mark.django_db
class TestProjectCauses:
    def test_the_rows_of_a_project_come_first(self, complete, project):
        row = {"code": "BILLING", "words": ["payment amount"]}
        project.settings = {**project.settings, "root_causes": [row]}
        project.save()

        run_id = complete(booking())["run_id"]

        run = AceRun.objects.get(pk=run_id)
        assert run.reflection.root_cause == "BILLING"
        assert run.observations.get().root_cause == "BILLING"


@pytest.mark.django_db
class TestReading:
    def test_the_run_shows_its_observations(self, complete, alice_api):
        run_id = complete(booking())["run_id"]

        run = alice_api.get(f"/api/v1/ace/runs/{run_id}").json()

        (seen,) = run["observations"]
        assert seen["root_cause"] == "VALUE_MISMATCH"
        assert seen["seen"]["field"] == "tool_usage.0.result"


@pytest.mark.django_db(transaction=True)
class TestTwoAtOnce:
    def test_exactly_one_of_two_concurrent_runs_gives_a_lesson(self, project, alice):
        both = [runs.complete(project, booking(), alice, wait=False) for _ in range(2)]
        barrier, answers = threading.Barrier(2), []

        def reflect(run):
            barrier.wait(10)
            answers.append(contents(reflector_phase.reflect(run, alice)))
            connection.close()

        threads = [threading.Thread(target=reflect, args=[run]) for run in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(answers) == [[], [LESSON]]
