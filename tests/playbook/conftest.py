from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from memories.store import write as store_write
from memories.store.drafts import Draft as MemoryDraft
from playbook.lessons import draft as drafts
from playbook.lessons import intake, person_edits, taught
from playbook.lessons.draft import Draft
from playbook.lessons.lesson import (
    Lesson,
    Occasion,
    Quote,
    SourceText,
    TaughtLesson,
)
from playbook.models import PlaybookEntry

RULE = "When calling `edit_file`, pass `path` instead of `file`."


def lesson(text=RULE, *, operation="add", label="", quotes=None, **fields):
    """A lesson that quotes itself, as the built-in rules teach it."""
    given = {"content": text, "kind": "procedure", "category": "gotchas"}
    said = [text] if quotes is None else quotes
    made = Lesson(**given | fields, quotes=tuple(Quote(each) for each in said))
    return TaughtLesson(made, operation=operation, label=label)


def occasion(*texts, speaker="test", **fields):
    """Where somebody says each of the texts: a task that tests judged."""
    id = fields.pop("id", None) or uuid.uuid4()
    given = {"run_id": id, "feedback_source": "test", "outcome": "success"}
    sources = [
        SourceText("run", str(id), f"field.{number}", text, speaker)
        for number, text in enumerate(texts)
    ]
    return Occasion(id=id, sources=fields.pop("sources", sources), **given | fields)


def said_by_calls(*texts):
    """Each text is the result of a call of its own: one failed, and the next one did not."""
    return [
        SourceText("run", "1", f"tool_usage.{number}.result", text, "call", number == 0)
        for number, text in enumerate(texts)
    ]


SPEAKERS = {"agent": "agent", "human": "person"}
OF_OCCASION = ("feedback_source", "memory_id", "session", "run_id", "agent_id")


def propose(project, wanted, caller):
    """Submit what `learned` makes, one after another."""
    return [delta for each in wanted for delta in each(project, caller)]


@pytest.fixture
def learned():
    """A lesson of a task that tests judged, or another change that rules propose."""

    def make(text=RULE, *, operation="add", entry=None, **fields):
        told = {name: fields.pop(name) for name in OF_OCCASION if name in fields}
        told["run_id"] = told.get("run_id", uuid.uuid4())
        if operation in ("add", "update"):
            return Taught(text, operation, entry, told, fields)
        return Change(text, operation, entry, told, fields)

    return make


class Taught:
    def __init__(self, text, operation, entry, told, fields):
        self.run_id = told["run_id"]
        label, version = (
            entry.label if entry else "",
            fields.pop("expected_version", None),
        )
        self.settings = fields.pop("settings", {})
        said = fields.get("quotes", [text])
        taught = lesson(text, operation=operation, label=label, **fields)
        self.lessons = [replace(taught, version=version)]
        speaker = SPEAKERS.get(told.get("feedback_source"), "test")
        self.at = occasion(*said, speaker=speaker, **told)

    def __call__(self, project, caller):
        drafts = taught.read(project, self.lessons, self.at, caller)
        for draft in drafts:
            draft.delta.payload |= self.settings
        return intake.file(intake.prepare(project, drafts, caller))


class Change:
    def __init__(self, text, operation, entry, told, fields):
        self.run_id = told["run_id"]
        told.pop("feedback_source", None)
        values = {"content": text} if text and operation == "merge" else {}
        payload = {"vote": fields.pop("vote")} if "vote" in fields else {}
        fields.pop("content", None)
        given = {"producer": "rule", "entry": entry, "payload": payload} | told
        quote = {"field": "result", "start": 0, "end": 99, "quote": text or "So it is."}
        evidence = [quote] if operation in ("vote", "merge") else []
        given["evidence"] = fields.pop("evidence", evidence)
        self.delta = drafts.change(operation, values=values, **given | fields)

    def __call__(self, project, caller):
        draft = Draft(self.delta, is_believed=True)
        return intake.file(intake.prepare(project, [draft], caller))


@pytest.fixture
def teach(project, bob):
    """Teach one lesson that its occasion says, and return its delta."""

    def make(text=RULE, caller=bob, speaker="test", at=None, **fields):
        of_occasion = {
            name: fields.pop(name)
            for name in (
                "feedback_source",
                "memory_id",
                "session",
                "run_id",
                "agent_id",
            )
            if name in fields
        }
        at = at or occasion(text, speaker=speaker, **of_occasion)
        deltas = intake.take(project, [lesson(text, **fields)], at, caller)
        return deltas[0] if deltas else None

    return make


@pytest.fixture
def memory(project, bob):
    draft = MemoryDraft(
        content="The tests passed after the fix.", memory_type="learning"
    )
    return store_write.store(project, draft, bob).memory


@pytest.fixture
def write(project, alice):
    """Alice writes an entry; `author_kind="rule"` makes it a learned one."""

    def make(text=RULE, author_kind="human", **changes):
        changes = {"content": text, "category": "gotchas"} | changes
        change = person_edits.addition(changes, alice, reason="Alice knows.")
        entry = person_edits.submit_edit(project, change, alice).entry
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
