"""What the card or a rule says is said once at the start of a session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ace import run as runs
from ace.episode import EpisodeSource
from context.memory_lines import EarlierTexts
from mcp_server.hooks import session_start
from memories.store import write
from memories.store.drafts import Draft
from playbook.models import PlaybookDelta
from tests.ace.repairs.conftest import bash
from tests.mcp_server.hooks.conftest import started, text_of

FAILED, CURED = "./report.sh --by region", "./report.sh --group-by region"
CALLS = [bash(FAILED, "report.sh: unknown option: --by"), bash(CURED)]
RULE = "When running `./report.sh`, use `--group-by` instead of `--by`."
CARD = (
    '- shell "report.sh: unknown option: --by": "--group-by" instead of "--by" '
    "(3 sessions, last 2026-01-02)"
)


@pytest.mark.django_db
def test_what_a_rule_says_is_no_line_of_the_card_and_no_newest_lesson(
    complete, hook, alice_api, alice, project
):
    for number in range(2):
        complete(alice_api, CALLS, session_id=f"s{number}")
    rule = {"project_id": str(project.pk), "category": "patterns"}
    for content in (RULE, "When running `./sales.sh`, use `--to` instead of `--by`."):
        assert (
            alice_api.post(
                "/api/v1/playbook/rules", rule | {"content": content}
            ).status_code
            == 201
        )
    lesson = f"`{FAILED}` failed with unknown option: --by; `{CURED}` worked."
    draft = Draft(content=lesson, memory_type="learning", lessons=lesson)
    write.store(project, draft, alice)

    text = text_of(hook(alice_api, **started("s9")))

    assert text.count("--group-by") == 1
    rules = text[text.index("Rules that this project accepted:") :]
    assert RULE in rules
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


FLAG = "report.sh: unknown flag: --by"
UNPASSED = [bash("./report.sh --by region", FLAG, status="error"), bash("./report.sh")]


@pytest.mark.django_db
@pytest.mark.parametrize("is_accepted", [False, True])
def test_what_a_repair_taught_stands_once_at_a_start(
    is_accepted, hook, alice_api, bob_api, bob, project
):
    bob = replace(bob, key_id=bob_api.key.pk)
    for session in ("s1", "s2"):
        request = {"agent_id": "a", "goal": f"Report {session}", "result": "Reported."}
        request |= {"tool_usage": UNPASSED, "session_id": session}
        runs.complete(project, request, bob, source=EpisodeSource())
    if is_accepted:
        delta = PlaybookDelta.objects.pending().get()
        url = f"/api/v1/proposals/{delta.pk}/accept"
        assert alice_api.post(url, {"note": "Yes."}).status_code == 200

    text = text_of(hook(bob_api, **started("s9")))

    [line] = [line for line in text.splitlines() if "--by" in line]
    assert ("Run `./report.sh`, not" in line) == is_accepted
    assert ('Run "./report.sh" instead of' in line) != is_accepted


@pytest.mark.django_db
@pytest.mark.parametrize("opens", ["start", "prompt"])
def test_a_rule_without_room_takes_nothing_along(
    opens, complete, hook, alice_api, project, monkeypatch
):
    for number in range(2):
        complete(alice_api, CALLS, session_id=f"s{number}")
    rule = {"project_id": str(project.pk), "category": "patterns", "content": RULE}
    assert alice_api.post("/api/v1/playbook/rules", rule).status_code == 201
    monkeypatch.setattr(session_start, "TOLD_TOKENS", 20)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s9", "prompt": "Hm"}
    event = started("s9") if opens == "start" else prompt

    text = text_of(hook(alice_api, query="?opens_session=true", **event))

    assert RULE not in text
    assert "--group-by" in text
