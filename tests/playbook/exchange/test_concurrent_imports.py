from __future__ import annotations

import pytest

from common.caller import Caller, Role
from playbook.exchange import import_playbook
from playbook.models import PlaybookDelta, PlaybookEntry
from projects.models import Project
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


def test_a_history_is_restored_once(playbook, exported, organization):
    whole = exported("json")
    other = Project.objects.create(organization=organization, name="beta")
    olga = Caller(name="olga", roles={other.pk: Role.OWNER})

    def restore():
        return import_playbook.import_text(other, whole, olga, format="json")

    answers = together(restore, restore)

    # The slower one is refused, or finds that the lines are there already.
    assert any(getattr(answer, "restored", None) for answer in answers)
    assert PlaybookEntry.objects.filter(project=other).count() == len(RULES)
