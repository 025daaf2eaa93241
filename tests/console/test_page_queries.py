"""The queries of every page for people: as many at any size of the project."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from axes.models import AccessAttempt
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bench.fixtures import population
from bench.fixtures.large_fixture import large_memories
from bench.fixtures.population import Passages
from bench.measures import page_latency
from jobs.models import Heartbeat
from memories.models import Purge
from tests.console.query_counts import GIVEN_TO_NOBODY, QUERIES
from tests.support import page_addresses

pytestmark = pytest.mark.slow

FEW, MANY = 3, 6
READ_MORE_AT_FIRST = {"console:home", "console:search query"}


@pytest.fixture
def passages():
    texts = [f"Crane {number} lifts what barge {number} brought" for number in range(9)]
    return Passages(texts, population.embed_texts(texts, "passages"), [texts[0]])


@pytest.fixture
def installation(project):
    """Create rows that belong to no project, or that only a purge leaves."""
    sign_in = {"username": "mallory", "ip_address": "10.0.0.1"}
    Heartbeat.objects.create(name="tidy", at=timezone.now())
    AccessAttempt.objects.create(**sign_in, failures_since_start=3)
    Purge.objects.create(project=project, selection={}, actor="a", counts={})


def warm_up(browser, pages):
    """Have the process and the session read what they read once."""
    ContentType.objects.get_for_models(*apps.get_models())
    for page in pages:
        if page.name in READ_MORE_AT_FIRST:
            browser.get(page.url)


def count_queries(browsers, page):
    """Count those of the first person who can open the page; None if nobody can."""
    for browser in browsers.values():
        with CaptureQueriesContext(connection) as queries:
            answer = browser.get(page.url)
        if answer.status_code == HTTPStatus.OK:
            return len(queries)
    assert answer.status_code == HTTPStatus.FORBIDDEN, page.url
    return None


@pytest.fixture
def query_counts_by_page(project, installation, passages, monkeypatch):
    """Fill the project to a size and count: {page: queries or None}.

    None is a page that nobody may open.
    """
    monkeypatch.setattr(large_memories, "DUPLICATE_EVERY", 2)
    monkeypatch.setattr(large_memories, "DOUBT_EVERY", 2)
    project.settings = dict(page_latency.SETTINGS)
    project.save()

    def count(size):
        sizes = {"memories": size, "entries": size, "tasks": size}
        page_latency.fill_project(project, sizes | {"proposals": 10 * size}, passages)
        with page_latency.create_people(project, keep=False) as browsers:
            shown = page_latency.page_subjects(project, passages)
            pages = list(page_addresses.find_pages(shown))
            warm_up(browsers[page_latency.OWNER], pages)
            return {page: count_queries(browsers, page) for page in pages}

    return count


@pytest.mark.django_db
@pytest.mark.timeout(300)  # 200 pages, on a machine that may do other work
@pytest.mark.parametrize("size", [FEW, MANY])
def test_a_page_makes_as_many_queries_at_any_size(query_counts_by_page, size):
    found = query_counts_by_page(size)

    opened = {page: queries for page, queries in found.items() if queries is not None}
    assert {page.name: queries for page, queries in opened.items()} == QUERIES
    assert {page.route for page in found.keys() - opened.keys()} == GIVEN_TO_NOBODY
    assert {page.route for page in found} == page_addresses.route_names()
