"""Which live rules open the repair of one person to everybody."""

from __future__ import annotations

import pytest

from ace.models import AceRun, ObservedRepair
from playbook.models import PlaybookDelta, PlaybookEntry
from tests.ace.repairs.conftest import bash
from tests.ace.repairs.test_known_fix import LINT, LINT_REPAIR
from tests.playbook.conftest import write as write

pytestmark = pytest.mark.django_db

LINT_RULE = "Before finishing a change, run `make lint`: it has found errors."
TAGS_RULE = "When running `go test`, use `-tags` instead of `-tag`."
PIP_ERROR = "ERROR: No matching distribution found for acme-client"
PIP_REPAIR = [
    bash("pip install acme-client", PIP_ERROR, status="error"),
    bash("pip install acme-client-py"),
]
PIP_RULE = "Install `acme-client-py`, because `acme-client` is not in the index."


@pytest.fixture
def rule(project, write, bob_api):
    """Let a rule be live by a proposal of one of Bob's runs that quotes these calls."""

    def rule(done, text, *quoted, operation="add", status="accepted"):
        entry = write(text, author_kind="rule")
        PlaybookDelta.objects.create(
            project=project,
            operation=operation,
            status=status,
            entry=PlaybookEntry.objects.get(pk=entry.pk),
            run_id=done["run_id"],
            evidence=[{"field": f"tool_usage.{n}.arguments"} for n in quoted],
            producer="rule",
            proposed_by="bob",
            idempotency_key=f"{done['run_id']}{operation}"[:64],
        )
        return entry

    return rule


@pytest.fixture
def of_bob(complete, bob_api):
    """Report the same calls in two sessions of Bob; return the last one."""
    return lambda *calls: [complete(bob_api, [*calls]) for _ in range(2)][-1]


def test_the_rule_that_states_the_cure_opens_it(of_bob, rule, fix, dora_api):
    done = of_bob(bash("go test -tag=it ./a", "flag provided but not defined: -tag"),
                  bash("go test -tags=it ./a"))  # fmt: skip
    entry = rule(done, TAGS_RULE, 0, 1)

    found = fix(dora_api)

    assert found["entry_id"] == str(entry.pk)
    assert found["worked"] == "go test -tags=it ./a"


@pytest.mark.parametrize(
    ("text", "quoted", "operation"),
    [
        (TAGS_RULE, (0, 1), "vote"),
        (TAGS_RULE, (0, 1), "tag"),
        (TAGS_RULE, (0,), "add"),
        (LINT_RULE, (0, 1), "add"),
    ],
)
def test_a_vote_and_a_rule_about_something_else_do_not(
    of_bob, rule, fix, dora_api, text, quoted, operation
):
    done = of_bob(bash("go test -tag=it ./a", "flag provided but not defined: -tag"),
                  bash("go test -tags=it ./a"))  # fmt: skip
    rule(done, text, *quoted, operation=operation)

    assert fix(dora_api) is None


def test_a_rule_to_run_the_linter_gives_nobody_the_code_of_an_edit(
    of_bob, complete, carol_api, rule, fix, dora_api
):
    complete(carol_api, LINT_REPAIR)
    rule(of_bob(*LINT_REPAIR), LINT_RULE, 0, 1, 2)

    found = fix(dora_api, "mise run lint", LINT)

    assert "read only" not in str(found)
    assert found["entry_id"] is None


@pytest.mark.parametrize(("status", "is_said"), [("applied", False), ("accepted", True)])  # fmt: skip
def test_another_package_needs_a_rule_that_a_person_accepted(
    of_bob, rule, fix, dora_api, status, is_said
):
    done = of_bob(*PIP_REPAIR)
    AceRun.objects.update(is_attested=True)
    assert ObservedRepair.objects.first().seen["leads_elsewhere"]
    rule(done, PIP_RULE, 0, 1, status=status)

    found = fix(dora_api, "pip install acme-client", PIP_ERROR)

    assert bool(found) is is_said
