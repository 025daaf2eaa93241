"""Which lessons of memories that are read together an agent is to follow."""

from __future__ import annotations

from itertools import count

import pytest

from ace.models import AceRun
from common.caller import Caller, Role
from common.text.same_text import hash_text
from context import followed_lessons
from memories.retention import compact
from memories.scopes import Scope
from memories.store import write as store
from memories.store.drafts import Draft
from playbook.models import PlaybookDelta
from projects.models import Project
from tests.playbook.conftest import write as write

pytestmark = pytest.mark.django_db
LESSON = "Run `make export` before the gateway is called."
NUMBER = count(1)


@pytest.fixture
def beside(project):
    """Alice's second project."""
    return Project.objects.create(organization=project.organization, name="beside")


@pytest.fixture
def owner(project, beside):
    roles = {project.pk: Role.OWNER, beside.pk: Role.OWNER}
    return Caller(name="alice", roles=roles, may_attest=True)


@pytest.fixture
def episode(project, owner):
    def episode(lesson=LESSON, where=project, scope=None):
        text = f"Episode {next(NUMBER)}"
        draft = Draft(
            content=f"{text}\nLessons: {lesson}",
            memory_type="learning",
            kind="episode",
            lessons=lesson,
            scope=scope,
        )
        return store.store(where, draft, owner).memory

    return episode


@pytest.fixture
def propose(project):
    """Let a lesson be proposed and decided upon: a person rejects it."""

    def propose(lesson=LESSON, where=project, **more):
        decided = {"status": "rejected", "reviewer": "alice", "operation": "add"}
        return PlaybookDelta.objects.create(
            project=where,
            content=lesson,
            similarity_hash=hash_text(lesson),
            producer="rule",
            proposed_by="bob",
            idempotency_key=str(next(NUMBER)),
            **decided | more,
        )

    return propose


def followed(memories, caller):
    return [bool(each.lessons) for each in followed_lessons.choose(memories, caller)]


def test_a_rejection_is_of_one_project(episode, propose, beside, owner):
    memories = [episode(), episode(where=beside)]

    propose()

    assert followed(memories, owner) == [False, True]


def test_a_rejected_lesson_of_a_private_memory_stays_in_shared_ones(
    episode, propose, owner
):
    shared, private = episode(), episode(scope=Scope("user", "bob"))

    propose(memory_id=private.pk)

    assert followed([shared, private], owner) == [True, False]


def test_a_duplicate_is_followed(episode, propose, owner):
    memories = [episode()]

    propose(payload={"reason_code": "duplicate"})

    assert followed(memories, owner) == [True]


def test_one_that_is_a_live_rule_now_is_followed(episode, propose, write, owner):
    memories = [episode()]
    propose()
    assert followed(memories, owner) == [False]

    write(LESSON)

    assert followed(memories, owner) == [True]


@pytest.mark.parametrize("operation", ["add", "merge"])
def test_what_repeats_an_undone_rule_in_other_words_is_not(
    episode, propose, project, owner, operation
):
    memory = episode()
    request = {"goal": "Mend the export"}
    run = AceRun.objects.create(
        project=project, agent_id="a", actor="bob", request=request, memory=memory
    )
    first = propose("Export before you call the gateway.", status="reverted")
    again = {"run_id": run.pk, "reviewer": "", "payload": {"repeats": str(first.pk)}}

    propose(operation=operation, **again)

    assert followed([memory], owner) == [False]


def test_a_summary_of_memories_leaves_a_withdrawn_lesson_out(episode, propose, project):
    memories = [episode(), episode("Name the gateway.")]
    summarize = compact.project_summarizer(project)
    assert LESSON in summarize(memories).text

    propose()

    text = summarize(memories).text
    assert LESSON not in text
    assert "Name the gateway." in text
