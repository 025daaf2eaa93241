"""A lesson that a person rejected is given to no agent, and its memory stays."""

from __future__ import annotations

import pytest

from ace import run as runs
from ace.episode import EpisodeSource
from agents.recall.recall import read_memory
from common.text.same_text import hash_text
from context.digest import assemble
from memories.models import Memory
from playbook.models import PlaybookDelta
from tests.ace.conftest import TASK
from tests.ace.repairs.conftest import bash
from tests.mcp_server.hooks.conftest import failed, started, text_of

pytestmark = pytest.mark.django_db
GOAL = TASK["goal"]
OTHER_WORDS = "A new branch has no upstream; name it at the first push."
WRONG, ERROR = "git log --onelin", "fatal: unrecognized argument: --onelin"
CALLS = [bash(WRONG, ERROR, status="error"), bash("git log --oneline", "abc")]
FIX = "git log --oneline"


@pytest.fixture
def episode(project, bob):
    """Finish a task as an episode, in one of Bob's sessions."""

    def episode(session="s1", **changed):
        request = {**TASK, "feedback_source": "agent", "session_id": session} | changed
        run = runs.complete(project, request, bob, source=EpisodeSource())
        return Memory.objects.get(pk=run.memory_id)

    return episode


@pytest.fixture
def decide(alice_api):
    """Decide about the first lesson that was proposed."""

    def decide(action, **more):
        delta = PlaybookDelta.objects.filter(operation="add").order_by("pk").first()
        url = f"/api/v1/proposals/{delta.pk}/{action}"
        answer = alice_api.post(url, more)
        assert answer.status_code == 200, answer.content
        delta.refresh_from_db()
        return delta

    return decide


@pytest.fixture
def doors(alice, alice_api, project, hook):
    """Return what each door gives an agent who is to push a branch."""

    def doors(session):
        body = {"project_id": str(project.pk), "task_description": GOAL}
        # A session is not given again what its start gave.
        prompt = {"hook_event_name": "UserPromptSubmit", "session_id": f"{session}-2"}
        recalled = read_memory(project, alice, question=GOAL)
        keyword = {"keyword": {"enabled": True, "limit": 9}}
        digest = assemble.for_agent(project, alice, query=GOAL, overrides=keyword)
        return {
            "start": text_of(hook(alice_api, **started(session))),
            "prompt": text_of(hook(alice_api, **prompt, prompt=GOAL)),
            "task": alice_api.post("/api/v1/context", body).json()["text"],
            "digest": digest.text,
            "invocation": "".join(item.text for item in recalled.items),
        }

    return doors


def which(doors, words):
    return {name for name, text in doors.items() if words in text}


def test_rejected_it_is_given_by_no_door_and_as_a_rule_it_is_again(
    episode, decide, doors, alice_api, project
):
    memory = episode()
    words = memory.lessons.split(",")[0]
    before = which(doors("s2"), words)

    decide("reject", reason="One off.")
    after = doors("s3")

    assert before == {"start", "prompt", "task", "digest", "invocation"}
    assert which(after, words) == set()
    assert str(memory.pk) not in after["start"]
    memory.refresh_from_db()
    assert words in memory.lessons
    search = {"project_id": str(project.pk), "query": "upstream branch"}
    hits = alice_api.post("/api/v1/search", search)
    assert str(memory.pk) in hits.content.decode()

    content = PlaybookDelta.objects.get(operation="add").content
    rule = {"project_id": str(project.pk), "content": content, "category": "gotchas"}
    assert alice_api.post("/api/v1/playbook/rules", rule).status_code == 201

    assert {"start", "task"} <= which(doors("s4"), words)


def test_what_only_repeats_it_in_other_words_is_rejected_with_it(
    episode, decide, doors
):
    episode()
    memory = episode("s2", goal="Mend the invoices", result="Each has its number.")
    [again] = PlaybookDelta.objects.filter(memory_id=memory.pk, operation="add")
    text = f"{memory.content.partition('Lessons:')[0]}Lessons: {OTHER_WORDS}"
    rows = Memory.objects.filter(pk=memory.pk)
    rows.update(lessons=OTHER_WORDS, content=text)
    again.content, again.similarity_hash = OTHER_WORDS, hash_text(OTHER_WORDS)
    again.save()
    before = which(doors("s3"), OTHER_WORDS)

    decide("reject", reason="One off.")

    assert "start" in before
    assert which(doors("s4"), OTHER_WORDS) == set()


def test_an_undone_rule_takes_its_lesson_along(episode, decide, doors):
    words = episode().lessons.split(",")[0]
    entry = decide("accept", note="Yes.").entry
    assert words in entry.content

    decide("undo", reason="Not here.")

    assert which(doors("s3"), words) == set()


def test_one_rejection_ends_the_fix_at_the_failing_call(
    complete, decide, hook, bob_api
):
    for session in ("s1", "s2"):
        complete(bob_api, CALLS, session_id=session)
    assert FIX in text_of(hook(bob_api, **failed("s3", WRONG, ERROR)))
    assert FIX in text_of(hook(bob_api, **started("s3")))

    decide("reject", reason="One off.")

    assert hook(bob_api, **failed("s4", WRONG, ERROR)) == {}
    assert "--oneline" not in text_of(hook(bob_api, **started("s4")))
