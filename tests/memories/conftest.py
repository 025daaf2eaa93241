from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Memory
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft
from tests.inference.conftest import endpoint as endpoint

SESSION = Scope("session", "s1")


@pytest.fixture
def options(project):
    """Set options of the project: `options(quotas={"memories": 10})`."""

    def set_to(**sections):
        project.settings = {**project.settings, **sections}
        project.save(update_fields=["settings"])

    return set_to


@pytest.fixture
def stored(project, alice):
    """Store memories through the product's function: `stored("One is enough.")`."""

    def store(*texts, days=0, **fields):
        made = [
            write.store(
                project,
                Draft(**{"content": text, "memory_type": "learning", **fields}),
                alice,
            ).memory
            for text in texts
        ]
        at = timezone.now() - timedelta(days=days)
        if days:
            Memory.objects.filter(pk__in=[m.pk for m in made]).update(created_at=at)
        return made

    return store


def lines(count, *, start=0):
    """Texts that no duplicate check takes for one another."""
    things = ["anchor", "beacon", "copper", "dynamo", "ember", "funnel", "girder"]
    return [
        f"Number {n * 37 + 11}: the {things[n % 7]} of hall {n} is painted "
        f"{things[n * 3 % 7]} by crew {n * 3 + 5}."
        for n in range(start, start + count)
    ]
