"""What waits in the inbox, and what it answers."""

from __future__ import annotations

import pytest

from playbook.models import PlaybookDelta
from playbook.proposals import submission

OTHER = "In my words: pass `path`."


@pytest.fixture
def waiting_deltas(project, alice, learned):
    project.settings = project.settings | {"policy": "manual"}
    project.save()

    def make(*texts, **fields):
        wanted = [learned(text, **fields) for text in texts]
        return submission.propose(project, wanted, alice)

    return make


def rules(count):
    names = [
        "anchor",
        "berth",
        "cargo",
        "deck",
        "engine",
        "fender",
        "galley",
        "hatch",
        "island",
        "jetty",
        "keel",
    ]
    return [
        f"When loading `{names[n % 11]}_{n}` in port {n}, pass `{names[n // 11]}`."
        for n in range(count)
    ]


def as_addition(delta):
    """As it was proposed: what its neighbours made of it is another test's affair."""
    PlaybookDelta.objects.filter(pk=delta.pk).update(
        operation="add", entry=None, expected_version=None, risk="low"
    )


def wait_for_text(page, words):
    page.page.wait_for_selector(f"#inbox-said:has-text({words!r})")
