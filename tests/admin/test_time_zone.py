"""Times on pages are of the reader's time zone, which the browser tells in a cookie."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs import queue
from jobs.models import Job
from memories.models import Memory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)


@pytest.fixture
def page(owner, a_memory):
    memory = a_memory()
    Memory.objects.filter(pk=memory.pk).update(verified_at=AT)
    url = reverse("admin:memories_memory_change", args=[memory.pk])

    def ask(zone=None):
        if zone is not None:
            owner.cookies["zone"] = zone
        return owner.get(url).content.decode()

    return ask


def test_without_a_cookie_they_use_the_zone_of_the_service(page):
    shown = page()

    assert "2026-01-31 23:30:00" in shown
    assert "Times are those of UTC." in shown


def test_they_use_the_readers_zone(page):
    shown = page("Asia/Tokyo")

    assert "2026-02-01 08:30:00" in shown
    assert "Times are those of Asia/Tokyo." in shown


@pytest.mark.parametrize(
    "zone", ["", "Nowhere/Else", "../../etc/passwd", "/etc", "<script>", "x" * 3000]
)
def test_an_invalid_zone_is_ignored(page, zone):
    assert "Times are those of UTC." in page(zone)


def test_a_filter_by_days_means_the_days_of_the_reader(owner, project):
    """23:30 in London is the next day in Tokyo."""
    job = queue.enqueue("reindex", project_id=project.pk)
    Job.objects.filter(pk=job.pk).update(created_at=AT)
    url = reverse("admin:jobs_job_changelist")

    def has_row(day, zone):
        owner.cookies["zone"] = zone
        asked = {"created_at_from": day, "created_at_to": day}
        return str(job.pk) in owner.get(url, asked).content.decode()

    assert has_row("2026-01-31", "UTC")
    assert not has_row("2026-02-01", "UTC")
    assert has_row("2026-02-01", "Asia/Tokyo")
    assert not has_row("2026-01-31", "Asia/Tokyo")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_first_and_the_last_day_are_days_in_every_zone(owner, zone):
    owner.cookies["zone"] = zone
    asked = {"at_from": "0001-01-01", "at_to": "9999-12-31"}

    page = owner.get(reverse("admin:audit_auditevent_changelist"), asked)

    assert page.status_code == 200


def test_the_next_request_does_not_use_it(page):
    page("Asia/Tokyo")

    assert timezone.get_current_timezone_name() == "UTC"
