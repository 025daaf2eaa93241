from __future__ import annotations

import pytest

from playbook.exchange import export_playbook, import_playbook
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.review import bulk
from tests.playbook.exchange.sample_rules import RULES


@pytest.fixture
def take_in(project, bob):
    """Bob's agent posts a playbook."""

    def post(content, caller=bob, format="ace", **fields):
        return import_playbook.import_text(
            project, content, caller, format=format, **fields
        )

    return post


@pytest.fixture
def accept_all(project, alice):
    def accept():
        waiting = PlaybookDelta.objects.filter(project=project).pending()
        ids = list(waiting.order_by("pk").values_list("pk", flat=True))
        return bulk.decide_all(project, ids, "accept", alice)

    return accept


@pytest.fixture
def live(project):
    """The live entries by label, as they are now."""

    def read():
        rows = PlaybookEntry.objects.filter(project=project).current()
        return {entry.label: entry for entry in rows.light().order_by("pk")}

    return read


@pytest.fixture
def playbook(take_in, accept_all, live):
    """A playbook that was imported and accepted: {label: entry}."""
    lines = [f"[src-{n:05d}] helpful={n} harmful=0 :: {t}" for n, t in enumerate(RULES)]
    take_in("## PITFALLS\n" + "\n".join(lines))
    accept_all()
    return live()


@pytest.fixture
def exported(project, alice):
    def read(format="ace", of=None, by=alice):
        return export_playbook.export_text(of or project, by, format=format)

    return read
