"""The people and rows of the admin's tests: Alice owns, Bob curates, Charlie sees nothing."""

from __future__ import annotations

from ace import run as runs
from playbook.lessons import person_edits
from playbook.models import PlaybookChange, PlaybookEntry
from tests.admin.conftest import (  # noqa: F401 -- fixtures
    _plain_static_files,
    a_memory,
    an_entry,
    browser_of,
    charlies,
    curator,
    owner,
    superuser,
    world,
)
from tests.playbook.conftest import learned, write  # noqa: F401 -- fixtures

TEXT = "Moor at the north berth, as src/berths.py says."


def add(project, caller, content=TEXT):
    wanted = {"content": content, "category": "gotchas"}
    delta = person_edits.submit_edit(
        project, person_edits.addition(wanted, caller, reason=""), caller
    )
    return PlaybookEntry.objects.get(pk=delta.entry_id)


def newest_change():
    return PlaybookChange.objects.first()


def a_run(project, alice, entry):
    task = {
        "agent_id": "coder",
        "goal": "Moor the boat",
        "result": f"Moored it as [{entry.label}] says.",
        "feedback": "All 14 tests passed.",
        "feedback_source": "test",
        "outcome": "success",
        "cited_entry_ids": [entry.label],
    }
    return runs.complete(project, task, alice)
