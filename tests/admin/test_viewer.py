"""Every button and link that a viewer gets works for a viewer."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import resolve, reverse

from common.caller import Role
from tests.browser import routes
from tests.browser.hostile_world import deltas, hostile_rows  # noqa: F401 -- fixtures

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

# What a viewer may send: only what concerns themselves. Who makes a project owns it.
OWN = {"admin:logout", "admin:password_change", "admin:projects_project_add"}
# Models of which a viewer sees no page at all.
CLOSED_MODELS = (
    "access_apikey",
    "audit_auditevent",
    "auth_user",
    "axes_accessattempt",
    "axes_accesslog",
    "memories_purge",
    "projects_membership",
    "projects_organization",
)
CLOSED_PAGES = {
    "admin:memories_tag_add",
    "admin:playbook_playbookentry_add",
    "console:schedules",
}


class Offers(HTMLParser):
    """Where the buttons of a page's forms send, and where its links lead."""

    def __init__(self, html, path):
        super().__init__()
        self.path = path
        self.form = None
        self.forms, self.buttons, self.links = {None: ("", path)}, [], {}
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self.form = given.get("id") or f" {len(self.forms)}"
            sent = given.get("method", "get"), self.at(given.get("action"))
            self.forms[self.form] = sent
        if tag in ("button", "input") and sends(tag, given):
            self.buttons.append((given.get("form", self.form), given))
        if tag == "a" and not given.get("href", "#").startswith("#"):
            self.link(given["href"])

    def handle_endtag(self, tag):
        if tag == "form":
            self.form = None

    def link(self, address):
        """Of a page's links to itself, the first stands for all."""
        whole = self.at(address)
        alike = self.path.partition("?")[0] if address[:1] in ("", "?") else whole
        self.links.setdefault(alike, whole)

    @property
    def posts(self):
        """A button may stand outside its form, and before it."""
        for form, given in self.buttons:
            method, address = self.forms[form]
            action = given.get("formaction")
            if given.get("formmethod", method).lower() == "post":
                yield self.at(action) if action else address

    def at(self, address):
        return urljoin(self.path, address or "").partition("#")[0]


def sends(tag, attrs):
    usual = "submit" if tag == "button" else "text"
    return attrs.get("type", usual) in ("submit", "image")


def is_own(post):
    return resolve(urlsplit(post).path).view_name in OWN


def is_closed(visit):
    closed = tuple(f"admin:{model}_" for model in CLOSED_MODELS)
    return visit.route in CLOSED_PAGES or visit.route.startswith(closed)


def is_refusal(answer):
    """Django leads from the history of what it does not show to the first page."""
    home = answer.status_code == 302 and answer["Location"] == reverse("admin:index")
    return home or answer.status_code in (403, 404)


def test_every_route_is_visited_or_listed_as_no_page(hostile_rows):  # noqa: F811
    visited = {visit.route for visits in hostile_rows.values() for visit in visits}
    nowhere = {*routes.NO_PAGES, *routes.given_to_nobody()}

    assert routes.routes() == visited | nowhere
    assert not visited & nowhere


def test_every_button_and_link_works_for_a_viewer(hostile_rows, browser_of):  # noqa: F811
    viewer = browser_of(Role.VIEWER)
    refused, links = [], {}
    for visit in (one for visits in hostile_rows.values() for one in visits):
        answer = viewer.get(visit.path)
        if is_closed(visit) or visit.route == "admin:login":
            assert is_refusal(answer), visit.name
            continue
        assert answer.status_code == visit.status, visit.name
        offers = Offers(answer.content.decode(), visit.path)
        posts = sorted(post for post in set(offers.posts) if not is_own(post))
        refused += [f"{visit.name} offers {post}" for post in posts]
        links |= {at: (link, visit.name) for at, link in offers.links.items()}

    for link, name in links.values():
        if urlsplit(link).netloc:
            continue
        status = viewer.get(link, follow=True).status_code
        refused += [f"{name} leads to {link[:200]}: {status}"] if status >= 400 else []
    assert not refused, "\n".join(refused)
