"""What hooks gave in a week, and whether it was followed."""

from __future__ import annotations

import pytest

from console import weeks
from mcp_server.hooks import push_use
from mcp_server.hooks.push_use import NOTHING_PUSHED
from tests.ace.fixes.conftest import CURED, ERROR, FAILED, bash
from tests.mcp_server.hooks.conftest import failed, started

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def use(project, alice):
    def use(caller=alice):
        week = weeks.last_weeks(1)[0]
        return push_use.count(project, week.start, week.end, caller)

    return use


@pytest.mark.parametrize(
    ("cure", "followed", "ignored"),
    [(CURED, 1, 0), ("go test -run=it ./ledger", 0, 1)],
)
def test_a_fix_is_followed_if_its_session_then_used_the_same_cure(
    complete, hook, bob_api, use, cure, followed, ignored
):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))
    before = use()

    complete(bob_api, [bash(FAILED, ERROR), bash(cure)], session_id="s2")

    assert (before.measured, before.followed, before.ignored) == (1, 0, 0)
    after = use()
    assert (after.followed, after.ignored) == (followed, ignored)
    assert after.tokens_per_session == after.tokens > 0


def test_another_session_says_nothing_of_it(complete, hook, bob_api, use):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))

    complete(bob_api, session_id="s3")

    assert (use().followed, use().ignored) == (0, 0)


@pytest.mark.parametrize(
    ("command", "followed", "ignored"), [("make lint", 1, 0), ("make", 0, 1)]
)
def test_a_rule_is_followed_if_the_next_task_runs_what_it_names(
    complete, hook, bob_api, alice_api, project, use, command, followed, ignored
):
    rule = {"project_id": str(project.pk), "category": "patterns"}
    rule["content"] = "Run `make lint` before each push."
    assert alice_api.post("/api/v1/playbook/entries", rule).status_code == 201
    hook(bob_api, **started("s1"))

    complete(bob_api, [bash(command)], session_id="s1")

    assert (use().followed, use().ignored) == (followed, ignored)


def test_charlie_counts_nothing(complete, hook, bob_api, use, charlie):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))

    assert use(charlie) == NOTHING_PUSHED
