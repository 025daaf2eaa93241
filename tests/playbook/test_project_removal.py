from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from playbook import tasks
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from projects import deletion
from projects.models import Project
from search.models import Corpus
from tests.playbook.conftest import propose


def test_a_deleted_project_leaves_no_playbook(
    project, bob, learned, write, memory, run_jobs
):
    write("Always run the database migrations before the test suite starts.")
    against = "Never run the database migrations before the test suite starts."
    propose(project, [learned(memory_id=memory.pk), learned(against)], bob)
    tasks.refresh_statistics()
    project.delete_after = timezone.now() - timedelta(days=1)
    project.save()

    deletion.enqueue_due()
    run_jobs()

    for model in (Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry):
        assert not model.objects.exists()
    assert not Corpus.objects.filter(name="playbook").exists()
    assert not Project.objects.filter(pk=project.pk).exists()
