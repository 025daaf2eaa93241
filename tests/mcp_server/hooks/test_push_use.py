"""What hooks gave in a week, and whether it was used."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.caller import Caller, Role
from console import weeks
from mcp_server.hooks import push_use
from mcp_server.hooks.push_use import NOTHING_PUSHED, FixUse
from memories.models import Memory, MemoryExposure
from memories.read import exposures
from memories.store import write
from memories.store.drafts import Draft
from playbook.models import Exposure
from tests.ace.fixes.conftest import CURED, ERROR, FAILED, bash
from tests.mcp_server.hooks.conftest import failed, started

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def use(project, alice):
    def use(caller=alice):
        week = weeks.last_weeks(1)[0]
        return push_use.count(project, week.start, week.end, caller)

    return use


@pytest.fixture
def fix_use(project, alice):
    def fix_use(caller=alice):
        week = weeks.last_weeks(1)[0]
        return push_use.count_fixes(project, week.start, week.end, caller)

    return fix_use


@pytest.mark.parametrize(
    ("cure", "used", "not_used", "said"),
    [
        (CURED, 1, 0, "1 fix was given back at a failing command; 1 was then used"),
        (
            "go test -run=it ./ledger",
            0,
            1,
            "1 fix was given back at a failing command; none is known to be used",
        ),
    ],
)
def test_a_fix_is_used_if_its_session_then_did_the_same(
    complete, hook, bob_api, use, fix_use, cure, used, not_used, said
):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))
    before = fix_use()

    complete(bob_api, [bash(FAILED, ERROR), bash(cure)], session_id="s2")

    assert before == FixUse(given=1)
    assert before.rest == "Of 1 fix the use is not known."
    with CaptureQueriesContext(connection) as queries:
        assert fix_use() == FixUse(1, used, not_used)
    assert not any('"seen"' in query["sql"] for query in queries)
    assert fix_use().sentence == said
    assert use().tokens_per_session == use().tokens > 0


def test_what_its_session_did_after_the_time_is_not_counted(
    complete, hook, bob_api, project, alice
):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))
    start, end = weeks.last_weeks(1)[0].start, timezone.now()

    complete(bob_api, [bash(FAILED, ERROR), bash(CURED)], session_id="s2")

    assert push_use.count_fixes(project, start, end, alice) == FixUse(given=1)


def test_another_session_says_nothing_of_it(complete, hook, bob_api, fix_use):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))

    complete(bob_api, session_id="s3")

    assert fix_use() == FixUse(given=1)


def used_rules():
    return Exposure.objects.exclude(used_as="").count()


@pytest.mark.parametrize(("command", "used"), [("make lint", 1), ("make", 0)])
def test_a_rule_is_used_if_the_next_task_runs_what_it_names(
    complete, hook, bob_api, alice_api, project, command, used
):
    rule = {"project_id": str(project.pk), "category": "patterns"}
    rule["content"] = "Run `make lint` before each push."
    assert alice_api.post("/api/v1/playbook/entries", rule).status_code == 201
    hook(bob_api, **started("s1"))

    complete(bob_api, [bash(command)], session_id="s1")

    assert used_rules() == used


@pytest.mark.parametrize(
    ("commands", "used"),
    [
        (["./report.sh --by region"], 0),
        (["./report.sh --by region", "./report.sh --group-by region"], 0),
        (["cat report.sh"], 0),
        (["cd tools && ./report.sh --group-by=region"], 1),
    ],
)
def test_a_rule_about_an_option_is_used_by_that_option_alone(
    complete, hook, bob_api, alice_api, project, commands, used
):
    rule = {"project_id": str(project.pk), "category": "patterns"}
    rule["content"] = "When running `./report.sh`, use `--group-by` instead of `--by`."
    rule["applies_to"] = ["tool:report.sh"]
    assert alice_api.post("/api/v1/playbook/entries", rule).status_code == 201
    hook(bob_api, **started("s1"))

    complete(bob_api, [bash(command) for command in commands], session_id="s1")

    assert used_rules() == used


class TestMemories:
    """A memory that a hook gives is an exposure like one of a task's context."""

    @pytest.fixture
    def memory(self, project, alice):
        text = "The gateway is busy after a deploy: run `make wait`."
        draft = Draft(content=text, memory_type="learning", lessons=text)
        return write.store(project, draft, alice).memory

    @pytest.mark.parametrize(
        ("command", "used_as"), [("make wait", "command"), ("make", "")]
    )
    def test_it_is_used_if_the_next_task_runs_what_it_names(
        self, memory, complete, hook, bob_api, command, used_as
    ):
        hook(bob_api, **started("s1"))

        run = complete(bob_api, [bash(command)], session_id="s1")

        exposure = MemoryExposure.objects.get(memory=memory)
        assert (str(exposure.run_id), exposure.used_as) == (run["run_id"], used_as)

    def test_the_use_of_a_memory_of_another_user_is_not_counted(
        self, memory, complete, hook, bob_api, project, alice
    ):
        hook(bob_api, **started("s1"))
        complete(bob_api, [bash("make wait")], session_id="s1")
        Memory.objects.filter(pk=memory.pk).update(
            scope_kind="user", scope_key="u1", scope_user="u1"
        )
        bound = Caller(name="b", roles={project.pk: Role.VIEWER}, user_id="u2")

        used = MemoryExposure.objects.exclude(used_as="")
        seen = [used.visible_to(who).count() for who in (alice, bound)]
        assert seen == [1, 0]

    def test_what_is_given_twice_is_credited_once(
        self, memory, complete, hook, bob_api
    ):
        hook(bob_api, **started("s1"))
        hook(bob_api, **started("s2"))

        first = complete(bob_api, [bash("make wait")], session_id="s1")
        complete(bob_api, [bash("make wait")], session_id="s2")

        exposure = MemoryExposure.objects.get(memory=memory)
        assert str(exposure.run_id) == first["run_id"]

    def test_what_the_session_has_already_is_no_second_exposure(
        self, memory, hook, bob_api
    ):
        hook(bob_api, **started("s1"))
        hook(bob_api, **started("s1"))

        assert MemoryExposure.objects.filter(memory=memory).count() == 1

    def test_its_page_lists_it(self, memory, hook, bob_api):
        hook(bob_api, **started("s1"))

        assert exposures.count_use(memory).times_given == 1


def test_charlie_counts_nothing(complete, hook, bob_api, use, fix_use, charlie):
    complete(bob_api, session_id="s1")
    hook(bob_api, **failed("s2"))

    assert use(charlie) == NOTHING_PUSHED
    assert fix_use(charlie) == FixUse()
