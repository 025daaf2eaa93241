"""REST and console give the same answer for every proposal, as the table has it."""

from __future__ import annotations

import itertools
import re
import uuid
from dataclasses import asdict

import pytest
from django.urls import reverse

from common.caller import Caller, Role
from playbook.lessons.gates import GateResult
from playbook.models import PlaybookDelta
from playbook.review.available import ACTIONS, Permissions

RULE = "When calling `edit_file`, pass `path` instead of `file`."
API = "/api/v1/proposals"
ROLES = [Role.VIEWER, Role.WRITER, Role.CURATOR, Role.OWNER]
STATUSES = ["pending", "stale", "applied", "rejected", "reverted"]
RISKS = ["low", "medium", "quarantine"]
OLD_VERSION = 999  # of a request that the table lets through: it changes nothing
BODIES = {
    "edit": {"content": "Pass `path`."},
    "reject": {"reason": "no", "reason_code": "wrong"},
    "merge": {"content": "Pass `path`."},
}
# REST redoes by `POST /playbook/revert`, which names the delta.
ROUTES = [action for action in ACTIONS if action != "redo"]


@pytest.fixture
def deltas(project, an_entry):
    """One proposal of every kind."""

    def make(number, status, risk, operation):
        entry = an_entry(f"gotchas-{number:05}") if operation == "delete" else None
        return PlaybookDelta.objects.create(
            project=project,
            operation=operation,
            entry=entry,
            category="gotchas",
            content=RULE if operation == "add" else "",
            gates=[asdict(GateResult("evidence", "pass", 1, 1))],
            producer="rule",
            proposed_by="a",
            idempotency_key=uuid.uuid4().hex,
            status=status,
            risk=risk,
        )

    additions = itertools.product(STATUSES, RISKS, ["add"])
    removals = itertools.product(["pending", "applied"], ["high"], ["delete"])
    kinds = [*additions, *removals]
    return [make(100 + number, *kind) for number, kind in enumerate(kinds)]


@pytest.fixture(params=ROLES, ids=lambda role: role.label)
def role(request):
    return request.param


@pytest.fixture
def expected(project, role):
    permissions = Permissions(Caller("anybody", roles={project.pk: role}))

    def answer(delta):
        return set(permissions.actions(delta))

    return answer


def refusal_of(project, role, delta, action):
    permissions = Permissions(Caller("anybody", roles={project.pk: role}))
    return permissions.find_refusal(action, delta)


class TestRest:
    def test_it_lists_the_actions_of_the_table(
        self, client_of, project, role, deltas, expected
    ):
        api = client_of(project, role=role)
        page = api.get(f"{API}?project_id={project.pk}&limit=100").json()
        listed = {row["id"]: set(row["actions"]) for row in page["results"]}

        assert listed == {str(delta.pk): expected(delta) for delta in deltas}

    def test_it_refuses_what_the_table_refuses(
        self, client_of, project, role, deltas, an_entry
    ):
        api, entry = client_of(project, role=role), an_entry("gotchas-00001")
        for delta, action in itertools.product(deltas, ROUTES):
            body = BODIES.get(action, {}) | {"expected_version": OLD_VERSION}
            if action == "merge":
                body["entry_id"] = entry.pk
            refusal = refusal_of(project, role, delta, action)
            answer = api.post(f"{API}/{delta.pk}/{action}", body, format="json")

            wanted = refusal.code if refusal else "stale_version"
            where = (action, delta.status, delta.risk, delta.operation)
            assert answer.json()["code"] == wanted, where


class TestConsole:
    def test_a_card_has_a_form_for_each_action(
        self, browser_of, project, role, deltas, expected
    ):
        browser = browser_of(role)
        for delta in deltas:
            card = reverse("console:inbox_card", args=[delta.pk])
            page = browser.get(f"{card}?project={project.pk}").content.decode()
            forms = set(re.findall(rf"inbox/{delta.pk}/([a-z]+)/\?", page)) & {*ACTIONS}
            wanted = expected(delta)
            if delta.status == "pending" and delta.risk != "quarantine":
                wanted -= {"rebase"}  # a fresh proposal has nothing to renew

            assert forms == wanted, (delta.status, delta.risk, delta.operation)

    def test_it_refuses_what_the_table_refuses(
        self, browser_of, project, role, deltas, an_entry
    ):
        browser, entry = browser_of(role), an_entry("gotchas-00001")
        for delta, action in itertools.product(deltas, ACTIONS):
            refusal = refusal_of(project, role, delta, action)
            if refusal is None:
                continue
            body = BODIES.get(action, {}) | {"label": entry.label, "merged": RULE}
            url = reverse("console:inbox_decide", args=[delta.pk, action])
            answer = browser.post(
                f"{url}?project={project.pk}", body, HTTP_ACCEPT="application/json"
            )

            assert answer.status_code == refusal.status, (action, delta.status)
        assert not PlaybookDelta.objects.exclude(version=1).exists()
