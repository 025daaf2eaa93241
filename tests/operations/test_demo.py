from __future__ import annotations

import pytest

from ace.models import AceRun
from memories.models import Memory
from memory_project import demo
from playbook.models import PlaybookDelta

pytestmark = pytest.mark.django_db


def test_it_shows_memories_runs_and_proposals():
    project = demo.seed()

    runs = AceRun.objects.filter(project=project)
    assert {run.state for run in runs} == {AceRun.State.DONE}
    assert Memory.objects.filter(project=project).count() > runs.count() > 0
    assert PlaybookDelta.objects.filter(project=project).exists()


def test_a_second_seed_changes_nothing():
    demo.seed()
    before = Memory.objects.count()

    assert demo.seed() is None
    assert Memory.objects.count() == before


def test_it_leaves_an_installation_in_use_alone(project):
    assert demo.seed() is None
