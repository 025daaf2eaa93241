"""A NUL character in any field of any form is refused or replaced; nothing breaks."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import pytest
from django.core.signals import got_request_exception
from django.db import transaction
from django.test import Client
from django.urls import reverse

from tests.support.page_addresses import PageSubjects, find_pages

pytestmark = pytest.mark.slow

BAD = "a\x00b"
FREE = {"text", "search", "textarea", "password", "email", "url"}
TAGS = {"input", "textarea", "select", "button"}
KEPT = {"csrfmiddlewaretoken"}


class Forms(HTMLParser):
    """The forms of a page that POST: [(action, {field: (type, value)})]."""

    def __init__(self, html):
        super().__init__()
        self.found, self.fields = [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self.fields = {} if (given.get("method") or "").lower() == "post" else None
            if self.fields is not None:
                self.found.append((given.get("action") or "", self.fields))
        elif self.fields is not None and given.get("name") and tag in TAGS:
            kind = given.get("type") or ("text" if tag == "input" else tag)
            self.fields[given["name"]] = (kind, given.get("value") or "")

    def handle_endtag(self, tag):
        if tag == "form":
            self.fields = None


def variants(fields):
    """The typed fields broken together, then all fields."""
    plain = {name: value for name, (_, value) in fields.items()}
    typed = {name for name, (kind, _) in fields.items() if kind in FREE}
    yield plain | dict.fromkeys(typed, BAD)
    yield plain | dict.fromkeys(fields.keys() - KEPT, BAD)


@pytest.fixture
def faults():
    """The errors of PostgreSQL about a NUL that a view raised."""
    found = []

    def note(sender, request, **kwargs):
        error = sys.exc_info()[1]
        if "NUL" in str(error) or "\\u0000" in str(error):
            found.append(f"{request.get_full_path()}: {error!r}")

    got_request_exception.connect(note)
    yield found
    got_request_exception.disconnect(note)


@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_no_form_breaks(world, superuser, faults):
    superuser.raise_request_exception = False
    subjects, seen = PageSubjects(world, None, "crane", 1), set()
    for page in find_pages(subjects):
        if "?" in page.url and page.route in {route for route, _ in seen}:
            continue
        html = superuser.get(page.url).content.decode(errors="replace")
        for action, fields in Forms(html).found:
            url = action if action.startswith("/") else page.url + action
            if (page.route, tuple(fields)) in seen or "logout" in url:
                continue
            seen.add((page.route, tuple(fields)))
            for given in variants(fields):
                with transaction.atomic():
                    superuser.post(url, given)
                    transaction.set_rollback(True)

    assert len(seen) > 20
    assert not faults, "\n".join(faults)


@pytest.mark.django_db
def test_the_sign_in_does_not_break():
    browser = Client(raise_request_exception=False)
    given = {"username": BAD, "password": BAD, "next": BAD}

    assert browser.post(reverse("admin:login"), given).status_code < 500
