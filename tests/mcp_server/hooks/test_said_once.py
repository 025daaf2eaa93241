"""What the card or a rule says is said once at the start of a session."""

from __future__ import annotations

import pytest

from context.memory_lines import EarlierTexts
from memories.store import write
from memories.store.drafts import Draft
from tests.ace.fixes.conftest import bash
from tests.mcp_server.hooks.conftest import started, text_of

FAILED, CURED = "./report.sh --by region", "./report.sh --group-by region"
CALLS = [bash(FAILED, "report.sh: unknown option: --by"), bash(CURED)]
RULE = "When running `./report.sh`, use `--group-by` instead of `--by`."
CARD = (
    '- shell "report.sh: unknown option: --by": "--group-by" instead of "--by" '
    "(3 sessions, last 2026-01-02)"
)


@pytest.mark.django_db
def test_a_lesson_of_the_card_is_no_rule_and_no_newest_lesson(
    complete, hook, alice_api, alice, project
):
    for number in range(2):
        complete(alice_api, CALLS, session_id=f"s{number}")
    rule = {"project_id": str(project.pk), "category": "patterns"}
    for content in (RULE, "When running `./sales.sh`, use `--to` instead of `--by`."):
        assert (
            alice_api.post(
                "/api/v1/playbook/entries", rule | {"content": content}
            ).status_code
            == 201
        )
    lesson = f"`{FAILED}` failed with unknown option: --by; `{CURED}` worked."
    draft = Draft(content=lesson, memory_type="learning", lessons=lesson)
    write.store(project, draft, alice)

    text = text_of(hook(alice_api, **started("s9")))

    assert text.count("--group-by") == 1
    assert '"--group-by" instead of "--by"' in text
    assert "sales.sh" in text


@pytest.mark.parametrize(
    ("said", "text", "is_said"),
    [
        (CARD, RULE, True),
        (CARD, "Please use --group-by instead of --by with report.sh.", True),
        (RULE, f"`{FAILED}` failed, `{CURED}` worked.", True),
        (CARD, "Run `./report.sh --group-by region --to csv`, never `--by`.", False),
        (CARD, RULE.replace("report.sh", "sales.sh"), False),
        (CARD, "For `report.sh`, use `--by` instead of `--group-by`.", False),
    ],
)
def test_the_same_failing_and_working_words_are_the_same(said, text, is_said):
    earlier = EarlierTexts()
    earlier.add(said)

    assert earlier.has(text) == is_said
