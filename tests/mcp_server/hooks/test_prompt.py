"""What a prompt is given: rarely anything, and only what is surely about it."""

from __future__ import annotations

import pytest

from common.text.memory_fence import OPEN
from inference import tokens
from mcp_server.hooks import prompt as prompts
from mcp_server.hooks.given_line import GivenLine, Section
from mcp_server.models import Push
from memories.store import write
from memories.store.drafts import Draft
from playbook.lessons import person_edits
from tests.mcp_server.hooks.conftest import started, text_of
from tests.requirements.test_003 import TASKS

pytestmark = pytest.mark.django_db
RULE = "Retry the invoice export once when the gateway answers busy."
PROMPT = "Retry the invoice export when the gateway answers busy"


@pytest.fixture
def rule(alice, project):
    def rule(content=RULE):
        changes = {"content": content, "category": "patterns"}
        wanted = person_edits.addition(changes, alice, reason="")
        assert person_edits.submit_edit(project, wanted, alice).entry

    return rule


def asked(prompt=PROMPT, session="s9"):
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session}
    return event | {"prompt": prompt}


def test_a_prompt_about_a_rule_gets_the_rule(hook, bob_api, rule):
    rule()

    answer = hook(bob_api, **asked())

    text = text_of(answer)
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert text.startswith(OPEN)
    assert RULE in text
    assert tokens.estimate(text) <= 400


def test_a_line_without_room_in_its_section_is_given_in_the_next(
    hook, bob_api, monkeypatch
):
    line = GivenLine(Push.PushKind.NOTICE, "n1", "The gateway is busy at noon.")
    sections = [Section("Small", [line], 5), Section("Large", [line, line], 100)]
    monkeypatch.setattr(prompts, "find", lambda *_: sections)

    text = text_of(hook(bob_api, **asked()))

    assert "Small" not in text
    assert text.count(line.text) == 1
    assert text_of(hook(bob_api, **asked())) == ""


def test_a_prompt_about_a_lesson_gets_the_lesson(hook, bob_api, project, alice):
    draft = Draft(content=PROMPT, memory_type="learning", lessons=f"{PROMPT}: twice.")
    write.store(project, draft, alice)

    assert f"{PROMPT}: twice." in text_of(hook(bob_api, **asked()))


@pytest.mark.parametrize("others", [0, 10])
def test_a_finished_task_comes_back_by_its_goal_and_in_other_words(
    hook, bob_api, project, alice, others
):
    for number in range(others):
        text = f"Note {number}: hall {number * 7} is painted by crew {number * 3 + 5}."
        write.store(project, Draft(text, memory_type="learning"), alice)
    for goal, result, _ in TASKS:
        draft = Draft(goal, memory_type="learning", goal=goal, result=result)
        write.store(project, draft, alice)

    def is_given(goal, words):
        return goal in text_of(hook(bob_api, **asked(words, session=words)))

    assert all(is_given(goal, goal) for goal, _, _ in TASKS)
    assert all(is_given(goal, words) for goal, _, words in TASKS)
    assert text_of(hook(bob_api, **asked("Paint the harbour office green"))) == ""


@pytest.mark.parametrize(
    "prompt", ["yes", "go on please", "", "Draw a green bird above the quiet harbour"]
)
def test_any_other_prompt_gets_nothing(hook, bob_api, rule, prompt):
    rule()

    assert hook(bob_api, **asked(prompt)) == {}


def test_what_the_session_has_is_not_said_again(hook, bob_api, rule):
    rule()
    hook(bob_api, **started())

    assert hook(bob_api, **asked()) == {}
    assert hook(bob_api, **asked(session="s8"))
    assert hook(bob_api, **asked(session="s8")) == {}


def test_copilot_is_given_the_same_in_its_own_form(hook, bob_api, rule):
    rule()
    event = {"sessionId": "s9", "prompt": PROMPT, "am": {"event": "prompt"}}

    answer = hook(bob_api, "copilot", **event)

    assert "Rules that this project accepted" in answer["additionalContext"]


def test_what_a_harness_writes_around_a_prompt_is_not_asked_for(hook, bob_api, rule):
    rule()
    own = f"<hook_context>{PROMPT}</hook_context>\n\nDraw a green bird"

    assert hook(bob_api, **asked(own)) == {}


def test_after_a_compaction_it_may_be_said_again(hook, bob_api, rule):
    rule()
    hook(bob_api, **asked())
    hook(bob_api, hook_event_name="PreCompact", session_id="s9")

    assert hook(bob_api, **asked())


def test_without_the_model_nothing_is_given(hook, bob_api, rule, settings):
    rule()
    settings.EMBEDDING_PROVIDER = "none"

    assert hook(bob_api, **asked()) == {}


def test_a_project_switches_it_off(hook, bob_api, rule, project):
    rule()
    project.settings = {"hooks": {"prompt": False}}
    project.save()

    assert hook(bob_api, **asked()) == {}


def test_at_most_two_rules_are_given(hook, bob_api, rule):
    for number in "one", "two", "three":
        rule(f"{RULE} This is rule {number}.")

    assert text_of(hook(bob_api, **asked())).count("This is rule") == prompts.MAX_RULES
