"""The hostile rows of the admin's tests, and more that only the console shows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from ace.models import AceRun
from common.ids import uuid7
from inference.models import ActiveModel
from memories.models import Memory, MemoryFile, PossibleDuplicate
from playbook.history.revision import SUPPORTS, entry_values
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from projects.models import Project
from tests.admin.conftest import HOSTILE, NOW, SCRIPT, cut
from tests.browser import routes
from tests.console.test_home_page import a_run


@pytest.fixture
def deltas(world):
    """{list of the inbox: a proposal in it}, each with hostile texts."""
    project, entry = world[Project], world[PlaybookEntry]
    states = {
        "pending": {},
        "stale": {"status": "stale"},
        "quarantine": {"risk": "quarantine"},
        "automatic": {"status": "applied"},
        "rejected": {"status": "rejected", "reviewer": cut(200)},
    }
    pattern = world[PlaybookDelta]
    goal = AceRun.objects.get(pk=pattern.run_id).request["goal"]
    quote = {"field": "goal", "start": 0, "end": 900, "quote": goal[:900]}
    return {
        name: PlaybookDelta.objects.create(
            project=project,
            operation="update",
            entry=entry,
            expected_version=1,
            content=f"{SCRIPT} instead {HOSTILE}",
            payload={"condition": HOSTILE},
            reason=cut(1000),
            review_note=cut(1000),
            evidence=[quote, pattern.evidence[0]],
            gates=pattern.gates,
            producer="rule",
            producer_name=cut(100),
            proposed_by=cut(200),
            agent_id=cut(255),
            run_id=pattern.run_id,
            idempotency_key=str(uuid7()),
            **fields,
        )
        for name, fields in states.items()
    }


def a_change(project, entry, revision):
    state = entry_values(entry) | {SUPPORTS: []}
    PlaybookChange.objects.create(
        project_id=project.pk,
        revision=revision,
        operation="update",
        action="update",
        entry_id=entry.pk,
        entry_label=entry.label,
        before=state,
        after=state | {"content": f"{SCRIPT} {revision} {HOSTILE}"},
        actor=cut(200),
        run_id=a_run(project).pk,
        changed_at=NOW(),
    )


@pytest.fixture
def hostile_rows(world, deltas, a_memory):
    """The rows of the world, and those that only the console shows."""
    project, memory = world[Project], world[Memory]
    # No provider has its name, so nothing could be embedded or searched semantically.
    ActiveModel.objects.update(choice={})
    Project.objects.filter(pk=project.pk).update(
        name=cut(200), description=cut(5000), repository_url=cut(500)
    )
    a_run(project, "failure", given=world[PlaybookEntry])
    for revision in (2, 3):
        a_change(project, world[PlaybookEntry], revision)
    other = a_memory(content=f"Again {HOSTILE}", agent_id=cut(255), tags=[cut(64)])
    MemoryFile.objects.create(memory=other, file=world[MemoryFile].file)
    PossibleDuplicate.objects.create(
        project=project, memory=other, other=memory, similarity=0.9, why_not_merged="x"
    )
    PlaybookEntry.objects.filter(pk=world[PlaybookEntry].pk).update(harmful=4)
    marked = a_memory(
        content=f"Once more {HOSTILE}", is_duplicate=True, duplicate_of=memory
    )
    return {
        "console": [*routes.of_console(world, deltas, marked)],
        "lists": [*routes.lists()],
        "rows": [*routes.of_rows(world, world[User])],
        "before": [*routes.before_the_login()],
        "beside": [*routes.beside_rows(world)],
    }


@pytest.fixture
def watched_page(hostile_rows, open_page, world):
    """A page that the world's superuser opens."""
    root = world[User]
    root.is_staff = root.is_superuser = True
    root.save()
    return seen_by(root, open_page())


def seen_by(account, watched_page):
    client = Client()
    client.force_login(account, "django.contrib.auth.backends.ModelBackend")
    cookie = client.cookies["sessionid"].value
    watched_page.page.context.add_cookies(
        [{"name": "sessionid", "value": cookie, "url": watched_page.server}]
    )
    return watched_page
