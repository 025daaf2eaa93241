"""Walk the tour of docs/curating.md: each of its headings is a step that works.

PICTURES=docs/images/curating writes the pictures of the page anew.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone

from ace import run as runs
from common.caller import SYSTEM
from embedded import demo
from playbook.models import PlaybookDelta
from tests.browser.people import PASSWORD
from tests.browser.tour import STEPS
from tests.browser.walk import Walk

TASKS = json.loads(Path(__file__).with_name("tour.json").read_text())

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
    pytest.mark.timeout(300),
]


def days_ago(days):
    return time_machine.travel(timezone.now() - timedelta(days=days))


@pytest.fixture
def shop(transactional_db, run_jobs):
    """The project that `bin/up` creates, and what five agents have done in it since."""
    with days_ago(16):
        project = demo.seed()
    for task in TASKS:
        with days_ago(task["days_ago"]):
            given = {name: v for name, v in task.items() if name != "days_ago"}
            runs.complete(project, given, SYSTEM)
    run_jobs()
    User.objects.create_superuser("alice", password=PASSWORD)
    return project


def test_every_step_of_the_tour_works(shop, open_page):
    walk = Walk(open_page(), shop)

    for _, picture, go, finish in STEPS:
        go(walk)
        if picture:
            walk.take_picture(picture)
        finish(walk)

    assert walk.watched.complaints == []
    assert walk.watched.strangers == []
    assert PlaybookDelta.objects.filter(status="pending").exists()
