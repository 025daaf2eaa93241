from __future__ import annotations

import uuid

import pytest

from memories.store import write as store_write
from memories.store.drafts import Draft
from playbook.learning import learn
from playbook.models import PlaybookEntry
from playbook.proposals import person_edits
from playbook.proposals.proposed_change import Proposal, Quote

RULE = "When calling `edit_file`, pass `path` instead of `file`."


@pytest.fixture
def learned():
    """A proposal of a run that passes every gate: its text is its own evidence."""

    def make(text=RULE, **fields):
        given = {
            "operation": "add",
            "content": text,
            "category": "gotchas",
            "reason": "Learned from a task.",
            "evidence": (Quote("result", 0, len(text or ""), text),),
            "sources": {"result": text},
            "producer_name": "reflector",
            "run_id": uuid.uuid4(),
            "feedback_source": "test",
            "outcome": "success",
        }
        return Proposal(**given | fields)

    return make


@pytest.fixture
def lesson():
    def make(text=RULE, **fields):
        given = {
            "content": text,
            "category": "gotchas",
            "evidence": (Quote("result", 0, len(text), text),),
        }
        return learn.Lesson(**given | fields)

    return make


@pytest.fixture
def run(memory):
    """A finished task whose result says whatever its lessons quote."""

    def make(*lessons, **fields):
        given = {
            "id": uuid.uuid4(),
            "memory": memory,
            "outcome": "success",
            "feedback_source": "test",
            "sources": {"result": lessons[0].content if lessons else ""},
        }
        return learn.TaskRun(**given | fields)

    return make


@pytest.fixture
def memory(project, bob):
    draft = Draft(content="The tests passed after the fix.", memory_type="learning")
    return store_write.store(project, draft, bob).memory


@pytest.fixture
def write(project, alice):
    """Alice writes an entry; `author_kind="rule"` makes it a learned one."""

    def make(text=RULE, author_kind="human", **changes):
        changes = {"content": text, "category": "gotchas"} | changes
        proposal = person_edits.addition(changes, alice, reason="Alice knows.")
        entry = person_edits.submit_edit(project, proposal, alice).entry
        if author_kind != "human":
            PlaybookEntry.objects.filter(pk=entry.pk).update(author_kind=author_kind)
        return PlaybookEntry.objects.light().select_related("project").get(pk=entry.pk)

    return make


@pytest.fixture
def set_options(project):
    def change(**options):
        project.settings = project.settings | options
        project.save()

    return change


def reword(entry, caller, content):
    """Have a person give an entry another text."""
    wanted = person_edits.change(
        entry, {"content": content}, caller, reason="", version=entry.version
    )
    person_edits.submit_edit(entry.project, wanted, caller)
    entry.refresh_from_db()
