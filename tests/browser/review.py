"""Proposals that wait in the inbox, and its answers."""

from __future__ import annotations

import pytest

from playbook.models import PlaybookDelta
from tests.playbook.conftest import propose

OTHER = "In my words: pass `path`."


@pytest.fixture
def waiting_deltas(project, alice, learned):
    project.settings = project.settings | {"policy": "manual"}
    project.save()

    def make(*texts, **fields):
        wanted = [learned(text, **fields) for text in texts]
        return propose(project, wanted, alice)

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
    """Reset it to an addition; another test checks what its neighbours make of it."""
    PlaybookDelta.objects.filter(pk=delta.pk).update(
        operation="add", entry=None, expected_version=None, risk="low"
    )


def wait_for_text(page, words):
    page.page.wait_for_selector(f"#inbox-said:has-text({words!r})")
