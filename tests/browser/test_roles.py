"""A viewer meets no button that refuses, and no link that leads to a refusal."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import resolve

from common.caller import Role
from tests.admin.conftest import browser_of  # noqa: F401 -- a fixture
from tests.browser.everything import (  # noqa: F401 -- fixtures
    a_memory,
    an_entry,
    deltas,
    everything,
    world,
)

pytestmark = pytest.mark.django_db(transaction=True)

# What a viewer may send: only what concerns themselves.
OWN = {"admin:logout", "admin:password_change"}


class Offers(HTMLParser):
    """Where the buttons of a page's forms send, and where its links lead."""

    def __init__(self, html, path):
        super().__init__()
        self.path = path
        self.form = None
        self.posts, self.links = set(), set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            is_post = given.get("method", "").lower() == "post"
            self.form = self.at(given.get("action")) if is_post else None
        if tag in ("button", "input") and sends(tag, given):
            action = given.get("formaction")
            self.posts |= {self.at(action)} if action else {self.form} - {None}
        if tag == "a" and given.get("href", "#")[0] not in "#?":
            self.links.add(self.at(given["href"]))

    def handle_endtag(self, tag):
        if tag == "form":
            self.form = None

    def at(self, address):
        return urljoin(self.path, address or "").partition("#")[0]


def sends(tag, attrs):
    usual = "submit" if tag == "button" else "text"
    return attrs.get("type", usual) == "submit"


def is_own(post):
    return resolve(urlsplit(post).path).view_name in OWN


def test_a_viewer_is_offered_nothing_that_refuses(everything, browser_of):  # noqa: F811
    viewer = browser_of(Role.VIEWER)
    opened, refused, links = 0, [], {}
    for visit in (one for visits in everything.values() for one in visits):
        answer = viewer.get(visit.path)
        if answer.status_code != visit.status:
            continue
        opened += 1
        offers = Offers(answer.content.decode(), visit.path)
        posts = sorted(post for post in offers.posts if not is_own(post))
        refused += [f"{visit.name} offers {post}" for post in posts]
        links |= dict.fromkeys(offers.links, visit.name)

    for link, name in links.items():
        if urlsplit(link).netloc:
            continue
        status = viewer.get(link, follow=True).status_code
        refused += [f"{name} leads to {link[:200]}: {status}"] if status >= 400 else []
    assert opened > 60
    assert not refused, "\n".join(refused)
