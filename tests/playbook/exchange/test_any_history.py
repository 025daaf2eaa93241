from __future__ import annotations

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.caller import SYSTEM
from playbook import replay
from playbook.exchange import exporting, importing
from projects.models import Project
from tests.playbook.test_machine import BUDGET, EXAMPLES, STEP, History

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
def test_it_comes_back_from_its_export_byte_by_byte(history, organization, steps):
    with transaction.atomic():
        history.seen_labels = {}
        history.begin()
        for step in steps:
            history.take(step)
        whole = exporting.export(history.project, SYSTEM, format="json")
        other = Project.objects.create(organization=organization, name="beta")

        importing.take_in(other, whole, SYSTEM, format="json")

        assert exporting.export(other, SYSTEM, format="json") == whole
        assert replay.state_at(other) == replay.present(other)
        transaction.set_rollback(True)
