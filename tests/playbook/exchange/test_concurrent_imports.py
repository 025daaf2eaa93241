from __future__ import annotations

import pytest

from playbook.exchange import import_playbook
from playbook.models import PlaybookDelta
from tests.playbook.exchange.sample_rules import RULES
from tests.playbook.history.test_concurrency import together

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_same_playbook_posted_twice_at_once_is_one(project, bob):
    content = "\n".join(f"[src-{n:05d}] {t}" for n, t in enumerate(RULES))

    def post():
        return import_playbook.import_text(project, content, bob, format="ace")

    answers = together(post, post, post)

    assert {len(answer.waiting) for answer in answers} == {len(RULES)}
    assert PlaybookDelta.objects.count() == len(RULES)
