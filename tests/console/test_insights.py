"""Whether rules help: the statistics, the withholding through hooks, and the page."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count, islice
from random import Random

import pytest
from django.urls import reverse

from common.caller import Role
from console.insights import effect, outcomes
from console.insights.effect import SessionOutcome
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import withholding
from tests.ace.repairs.conftest import complete as complete
from tests.mcp_server.hooks.conftest import hook as hook
from tests.mcp_server.hooks.conftest import started, text_of

SIMULATIONS, SESSIONS, RULES, FAILURES = 60, 400, 3, 4.0
RULE = "Run `make tide` before the harbour tests."
FAILED = {
    "tool_name": "Bash",
    "arguments": {"command": "make tide"},
    "result": "make: *** No rule to make target 'tide'.  Stop.",
    "status": "error",
}


def simulate(seed, change):
    """Sessions with rules, each withheld from one in ten, that change the failures so much."""
    random = Random(seed)
    for _ in range(SESSIONS):
        withheld = sum(random.random() < 0.1 for _ in range(RULES))
        given = RULES - withheld
        yield SessionOutcome(
            poisson(random, FAILURES * (1 + change * given / RULES)), given, withheld
        )


def poisson(random, mean):
    left, found = math.exp(-mean), 0
    product = random.random()
    while product > left:
        product *= random.random()
        found += 1
    return found


class TestEstimate:
    def test_nothing_is_found_where_there_is_nothing(self):
        found = [effect.estimate(list(simulate(n, 0.0))) for n in range(SIMULATIONS)]

        assert sum(each.is_found for each in found) <= 0.1 * SIMULATIONS

    @pytest.mark.parametrize("change", [-0.3, 0.3])
    def test_a_change_of_30_percent_by_one_rule_is_found_in_400_sessions(
        self, change, monkeypatch
    ):
        monkeypatch.setattr("tests.console.test_insights.RULES", 1)

        found = [effect.estimate(list(simulate(n, change))) for n in range(SIMULATIONS)]

        right = [each for each in found if each.is_found and (each.high < 0) == (change < 0)]  # fmt: skip
        assert len(right) >= 0.9 * SIMULATIONS
        true = FAILURES * change
        held = sum(each.low <= true <= each.high for each in found)
        assert held >= 0.85 * SIMULATIONS

    def test_few_sessions_have_no_interval(self):
        few = [SessionOutcome(5, 1, 0)] * 300 + [SessionOutcome(9, 0, 1)] * 9

        found = effect.estimate(few)

        assert (found.given, found.withheld) == (5, 9)
        assert (found.low, found.is_found) == (None, False)


@pytest.fixture
def rule(alice_api, project):
    def rule(content=RULE, **more):
        body = {"project_id": str(project.pk), "category": "gotchas"}
        answer = alice_api.post("/api/v1/playbook/rules", body | {"content": content})
        entry = PlaybookEntry.objects.get(pk=answer.json()["entry"]["id"])
        PlaybookEntry.objects.filter(pk=entry.pk).update(author_kind="rule", **more)
        return entry

    return rule


@pytest.fixture
def fifty_sessions(project, rule):
    """A project in which fifty sessions were given a rule."""
    other = rule("Count the boats twice at noon.", status="deprecated")
    Exposure.objects.bulk_create(
        Exposure(project=project, entry=other, session=f"{n}", source="context")
        for n in range(withholding.MIN_SESSIONS)
    )


def sessions_of(entry, *, withheld):
    names = (f"s{number}" for number in count())
    return (s for s in names if withholding._is_drawn(entry.pk, s) == withheld)


@pytest.mark.django_db
class TestWithholding:
    def test_a_session_goes_without_at_each_moment_and_gives_no_credit(
        self, hook, bob_api, complete, rule, fifty_sessions, project
    ):
        entry = rule()
        session = next(sessions_of(entry, withheld=True))
        task = {"project_id": str(project.pk), "query": RULE}
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": RULE}

        starts = [hook(bob_api, **started(session, source=x)) for x in ("startup", "clear")]  # fmt: skip
        asked = hook(bob_api, session_id=session, **prompt)
        context = bob_api.post(
            "/api/v1/context", task | {"session": session}, format="json"
        )
        complete(bob_api, session_id=session)

        assert RULE not in f"{starts} {asked} {context.json()}"
        rows = Exposure.objects.filter(entry=entry)
        assert set(rows.values_list("is_withheld", "run_id", "used_as")) == {
            (True, None, "")
        }

    def test_one_session_in_ten_goes_without(self, rule, fifty_sessions):
        entry = rule()
        drawn = [withholding._is_drawn(entry.pk, f"s{n}") for n in range(2_000)]

        assert 150 < sum(drawn) < 250

    @pytest.mark.parametrize(
        "reason", ["pinned", "locked", "human", "off", "few", "no session", "person"]
    )
    def test_it_is_given_all_the_same(
        self, reason, rule, project, alice, bob, bob_api, fifty_sessions
    ):
        more = {"pinned": {"pinned": True}, "locked": {"locked": True}}
        entry = rule(**more.get(reason, {}))
        caller = alice if reason == "person" else replace(bob, key_id=bob_api.key.pk)
        session = next(sessions_of(entry, withheld=True))
        if reason == "human":
            PlaybookEntry.objects.update(author_kind="human")
        if reason == "off":
            project.settings = {"withhold": False}
        if reason == "few":
            Exposure.objects.first().delete()

        name = "" if reason == "no session" else session
        assert withholding.draw(project, [entry.pk], caller, name) == frozenset()

    def test_what_it_changes_stands_on_the_page(
        self, hook, bob_api, complete, rule, fifty_sessions, project, alice, browser_of
    ):
        entry = rule()
        for withheld in (True, False):
            for session in islice(sessions_of(entry, withheld=withheld), 12):
                text = text_of(hook(bob_api, **started(session)))
                assert (RULE in text) != withheld
                complete(bob_api, [FAILED] if withheld else [], session_id=session)

        found = outcomes.count(project, alice)

        failures = next(each.effect for each in found if each.measure == "failures")
        assert (failures.sessions_given, failures.sessions_withheld) == (12, 12)
        assert failures.is_found and failures.high < 0
        page = browser_of(Role.VIEWER).get(
            reverse("console:insights"), {"project": project.pk}
        )
        assert "Do the rules help?" in page.content.decode()
