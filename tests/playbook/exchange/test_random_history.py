from __future__ import annotations

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.caller import SYSTEM
from playbook.exchange import export_playbook, import_playbook
from playbook.history import replay
from projects.models import Project
from tests.playbook.history.test_random_history import BUDGET, EXAMPLES, STEP, History

pytestmark = pytest.mark.django_db


@pytest.fixture
def history(project, alice, bob, memory, learned, set_options):
    set_options(policy="auto", budgets={"playbook_tokens": BUDGET})
    return History(project, alice, bob, memory, learned)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEP, min_size=10, max_size=40))
def test_it_is_restored_from_its_export_byte_by_byte(history, organization, steps):
    with transaction.atomic():
        history.seen_labels = {}
        history.begin()
        for step in steps:
            history.take(step)
        whole = export_playbook.export_text(history.project, SYSTEM, format="json")
        other = Project.objects.create(organization=organization, name="beta")

        import_playbook.import_text(other, whole, SYSTEM, format="json")

        assert export_playbook.export_text(other, SYSTEM, format="json") == whole
        assert replay.snapshot_at(other) == replay.current_snapshot(other)
        transaction.set_rollback(True)
