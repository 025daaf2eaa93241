"""Proposals of before tell by their columns what they are."""

from __future__ import annotations

import importlib
import uuid

import pytest
from django.apps import apps

from common.text.same_text import hash_text
from playbook.models import PlaybookDelta, PlaybookEntry

MIGRATION = importlib.import_module("playbook.migrations.0008_fill_lesson_columns")


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"signature": "fact||| remember"}, "fact"),
        ({"signature": "wish|lasting|never"}, "instruction"),
        ({"signature": "wish|add tests"}, "instruction"),
        ({"signature": "observed|repair|x"}, "fix"),
        ({"signature": "advice|||use"}, "instruction"),
        ({"signature": "check|||make lint", "repair_key": ""}, "check"),
        ({"signature": "x", "repair_key": "k"}, "fix"),
        ({"action": "answer `x`"}, "answer"),
        ({}, ""),
    ],
)
def test_a_signature_becomes_a_kind_and_is_gone(project, payload, kind):
    text = "Run `make lint` before you push."
    old = payload | {
        "tags": ["a"],
        "applies_to": ["always"],
        "feedback_source": "agent",
    }
    delta = PlaybookDelta.objects.create(
        project=project,
        operation="add",
        content=text,
        producer="rule",
        payload=old,
        similarity_hash="old",
        idempotency_key=uuid.uuid4().hex,
    )

    for _ in range(2):
        MIGRATION.fill_deltas(apps, None)

    delta.refresh_from_db()
    assert (delta.kind, delta.similarity_hash) == (kind, hash_text(text))
    assert delta.payload.keys() <= {"action", "feedback_source"}
    assert (delta.tags, delta.applies_to) == (["a"], ["always"])


def test_rules_are_hashed_anew_and_two_that_became_equal_stay_apart(project, write):
    texts = ("Run `make lint` first.", "Keep `uv.lock` beside it.", "Read it twice.")
    rules = [write(text) for text in texts]
    twin = "Run `make lint` first"
    PlaybookEntry.objects.filter(pk=rules[1].pk).update(content=twin)
    for number, rule in enumerate(rules):
        PlaybookEntry.objects.filter(pk=rule.pk).update(similarity_hash=f"old {number}")

    MIGRATION.hash_entries(apps, None)

    hashes = PlaybookEntry.objects.order_by("pk").values_list(
        "similarity_hash", flat=True
    )
    assert list(hashes) == [hash_text(texts[0]), "old 1", hash_text(texts[2])]
