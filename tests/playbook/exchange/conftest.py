from __future__ import annotations

import pytest

from common.errors import Refusal
from playbook.exchange import export_playbook, import_playbook
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.review import decide
from playbook.review.bulk import BulkOutcome
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
    """Alice accepts each waiting proposal by itself, whatever its risk."""

    def accept_one(delta):
        try:
            decided = decide.accept(delta, alice)
        except Refusal as refusal:
            return BulkOutcome(delta.pk, "refused", refusal=refusal)
        return BulkOutcome(delta.pk, decided.status, decided.version)

    def accept():
        waiting = PlaybookDelta.objects.filter(project=project).pending()
        return [accept_one(delta) for delta in waiting.with_entry().order_by("pk")]

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
