"""The project card: what earlier sessions showed, counted, and who may see it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ace.models import TaskCommand
from common.caller import Role
from context.card import failures
from context.headings import HEADINGS
from inference import tokens
from tests.context.card.task_calls import ROOT, bash

pytestmark = pytest.mark.django_db
FLAG = "flag provided but not defined: -tag\nusage: go test [build flags]"
NO_VARIABLE = "KeyError: 'SHOP_ENV'"
GIT_FLAG = "fatal: unrecognized argument: --onelin"


def subjects(answer, section):
    items = answer.json()["items"]
    return [item["id"] for item in items if item["why"].startswith(f"{section},")]


class TestCommands:
    def test_what_worked_in_three_sessions_stands_there_once(
        self, complete, card, bob_api
    ):
        for name in ("TestA", "TestB", "TestC"):
            complete(bob_api, bash(f"go test -v ./pay/... -run {name} 2>&1"))

        assert subjects(card(bob_api), "command") == ["go test ./pay/... -run <name>"]

    def test_what_one_other_key_says_is_not_told(
        self, complete, card, bob_api, alice_api, client_of, project
    ):
        for name in "abc":
            complete(bob_api, bash(f"pytest -p evil_plugin tests/{name}"))
            complete(bob_api, bash("pytest -p other"))
        assert subjects(card(alice_api), "command") == []

        complete(client_of(project), bash("pytest -p other"))
        assert subjects(card(alice_api), "command") == ["pytest -p other"]

    def test_what_worked_in_two_does_not(self, complete, card, bob_api):
        for _ in range(2):
            complete(bob_api, bash("make lint"))

        assert subjects(card(bob_api), "command") == []

    def test_a_line_that_failed_since_is_not_said_to_work(
        self, complete, card, bob_api, alice_api
    ):
        for name in "abc":
            complete(alice_api, bash(f"pytest tests/{name}"), bash("pytest tests/a"), bash("make lint"))  # fmt: skip
        complete(bob_api, bash("pytest tests/b", NO_VARIABLE, status="error"))
        complete(bob_api, bash("pytest tests/c", NO_VARIABLE, status="error"))
        complete(bob_api, bash("pytest tests/d", "FAILED tests/d - assert 1 == 2"))

        assert set(subjects(card(alice_api), "command")) == {
            "make lint",
            "pytest tests/a",
        }

    def test_only_runs_whose_exit_is_known_count(self, complete, card, bob_api):
        for _ in range(3):
            complete(
                bob_api,
                bash("make lint | tail -3"),
                bash("make build; echo done"),
                bash("make format || true"),
                bash("make lint && make check | tail -3"),
                bash("pytest tests/cart | tail -3", "=== 3 passed in 0.10s ==="),
            )

        assert subjects(card(bob_api), "command") == ["make lint", "pytest tests/cart"]

    @pytest.mark.parametrize(
        ("failing", "working"),
        [
            ("pytest tests/cart", "SHOP_ENV=test pytest tests/cart"),
            ("npm test", "cd web && npm test"),
            ("pytest tests/cart", "export SHOP_ENV=test && pytest tests/cart"),
            ("CI=1 make build", "make build"),
        ],
    )
    def test_a_twin_that_failed_stands_beside_its_mend(
        self, complete, card, bob_api, failing, working
    ):
        for _ in range(2):
            complete(
                bob_api,
                bash(failing, NO_VARIABLE, status="error"),
                bash(working),
            )

        said = [line["text"] for line in card(bob_api).json()["items"]]

        assert len(said) == 1
        assert f'"{failing}" failed; "{working}" worked (2 sessions' in said[0]

    def test_a_line_says_that_its_last_run_found_faults(self, complete, card, bob_api):
        for _ in range(3):
            complete(bob_api, bash("pytest tests/cart"))
        complete(
            bob_api, bash("pytest tests/cart", "FAILED tests/cart - assert 1 == 2")
        )

        [line] = card(bob_api).json()["items"]

        assert line["why"] == "command, 3 sessions"
        assert line["text"].endswith("; its last run found faults")

    def test_the_folder_of_a_call_is_part_of_the_command(self, complete, card, bob_api):
        for _ in range(3):
            complete(bob_api, bash("ls"), bash("npm test", cwd=f"{ROOT}/web"))

        assert subjects(card(bob_api), "command") == ["cd web && npm test"]

    def test_one_with_a_danger_in_the_part_that_is_cut_is_left_out(
        self, complete, card, bob_api
    ):
        for _ in range(3):
            complete(bob_api, bash(f"make build-{'x' * 110} --no-check-certificate"))

        assert subjects(card(bob_api), "command") == []


class TestFailures:
    def test_what_failed_in_two_sessions_stands_there_with_its_cure(
        self, complete, card, bob_api
    ):
        for _ in range(2):
            complete(bob_api, bash("go test -tag=it ./pay", FLAG), bash("go test -tags=it ./pay"))  # fmt: skip

        items = card(bob_api).json()["items"]
        line = next(x for x in items if x["why"].startswith("failure"))

        assert 'Run "go test -tags=it ./pay" instead of' in line["text"]
        assert line["why"] == "failure, 2 sessions"

    def test_only_of_what_may_be_said_are_decisions_read(
        self, complete, card, bob_api, monkeypatch
    ):
        for _ in range(2):
            complete(bob_api, bash("go test -tag=it ./pay", FLAG), bash("go test -tags=it ./pay"))  # fmt: skip
            complete(bob_api, bash("git log --onelin", GIT_FLAG), bash("git log --oneline"))  # fmt: skip
        monkeypatch.setattr(failures, "MAX_READ", 1)

        with CaptureQueriesContext(connection) as queries:
            items = card(bob_api).json()["items"]

        assert [item["why"] for item in items] == ["failure, 2 sessions"]
        of_lessons = '"playbook_playbookdelta"."run_id" IN'
        decisions = [q["sql"] for q in queries if of_lessons in q["sql"]]
        assert decisions
        assert not any('"gates"' in sql for sql in decisions)


class TestBudget:
    def test_it_has_at_most_300_tokens_and_the_same_bytes(
        self, complete, card, bob_api
    ):
        calls = [bash(f"make build-{name} {'x' * 60}") for name in "abcdefghijkl"]
        for _ in range(3):
            complete(bob_api, *calls)

        one, two = card(bob_api), card(bob_api)

        assert one.content == two.content
        assert one.json()["items"]
        assert one.json()["tokens"] == tokens.estimate(one.json()["text"]) <= 300


class TestIsolation:
    def test_charlie_finds_no_such_project(self, complete, card, bob_api, charlie_api):
        assert card(charlie_api).status_code == 404

    def test_a_bound_user_does_not_see_what_another_did(
        self, complete, card, client_of, project
    ):
        one = client_of(project, role=Role.WRITER, user_id="u1")
        two = client_of(project, role=Role.WRITER, user_id="u2")
        for _ in range(3):
            complete(one, bash("make lint"))

        assert subjects(card(one), "command") == ["make lint"]
        assert card(two).json()["items"] == []

    def test_a_purge_deletes_the_rows(self, complete, bob_api, alice_api, project):
        run = complete(bob_api, bash("make lint"))
        assert TaskCommand.objects.exists()
        body = {"project_id": str(project.pk), "ids": [run["memory_id"]], "reason": "asked"}  # fmt: skip

        assert alice_api.post("/api/v1/purge", body, format="json").status_code == 200

        assert not TaskCommand.objects.exists()

    def test_the_statements_do_not_grow(
        self, complete, card, bob_api, django_assert_max_num_queries
    ):
        for _ in range(3):
            complete(bob_api, bash("make lint"), bash("make build"))

        with django_assert_max_num_queries(20):
            card(bob_api)


class TestTaskContext:
    def ask(self, api, project, **more):
        body = {"project_id": str(project.pk), "task_description": "Mend the cart"}
        answer = api.post("/api/v1/context", body | more, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    def test_the_card_opens_it_on_request(self, complete, project, bob_api):
        for _ in range(3):
            complete(bob_api, bash("make lint"))

        asked = self.ask(bob_api, project, parts=["card", "rules"])
        without = self.ask(bob_api, project)

        assert [item["id"] for item in asked["items"]] == ["make lint"]
        heading = HEADINGS["card"]
        assert asked["text"].splitlines()[1:3] == [heading, asked["items"][0]["text"]]
        assert heading not in without["text"]

    def test_it_takes_at_most_a_fifth_of_the_budget(self, complete, project, bob_api):
        for name in ("lint", "build", "test", "format"):
            for _ in range(3):
                complete(bob_api, bash(f"make {name}"))

        found = self.ask(bob_api, project, parts=["card", "rules"], token_budget=200)

        size = sum(tokens.estimate(f"{line['text']}\n") for line in found["items"])
        assert 0 < size <= 40
        assert tokens.estimate(found["text"]) <= 200
