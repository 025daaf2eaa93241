"""Every list, page, form and history of the admin: for a superuser, a viewer and Charlie."""

from __future__ import annotations

import re

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse

from common.caller import Role
from tests.admin.conftest import MARK, queries_of

pytestmark = pytest.mark.django_db

UNKNOWN = ("zebra", "_00", "00000000-0000-7000-8000-000000000000")
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


def url(model, page, row=None):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=[quote(row.pk)] if row else [])


def urls_of(model, row):
    yield url(model, "changelist")
    yield f"{url(model, 'changelist')}?q={MARK}"
    yield url(model, "change", row)
    yield url(model, "history", row)


def pages_of(world):
    return [page for model in MODELS for page in urls_of(model, world[model])]


def test_a_superuser_sees_every_page_and_hostile_text_only_as_text(world, superuser):
    wrong, tags = [], ("<script>alert", "<img src=x", "</td></table>W")
    for model in MODELS:
        pages = {page: superuser.get(page) for page in urls_of(model, world[model])}
        for page, answer in pages.items():
            html = answer.content.decode()
            if answer.status_code != 200 or any(tag in html for tag in tags):
                wrong.append((page, answer.status_code))
        shown = pages[url(model, "changelist")].content.decode()
        if url(model, "change", world[model]) not in shown:
            wrong.append((model, "its list does not lead to its page"))
    assert not wrong


def test_a_list_accepts_anything_in_its_query(world, superuser):
    wrong = []
    for model in MODELS:
        page = url(model, "changelist")
        shown = superuser.get(page).context["cl"]
        names = [n for spec in shown.filter_specs for n in spec.expected_parameters()]
        queries = [f"p=zebra&o=99.x&nonsense=1&q={'%22' * 300}"]
        for typed in ("%F0%9F%98%80", "9" * 30):
            queries.append("&".join(f"{name}={typed}" for name in names))
        wrong += [
            f"{page}?{query}"
            for query in queries
            if superuser.get(f"{page}?{query}").status_code not in (200, 302)
        ]
    assert not wrong


def test_a_list_shows_one_to_seven_columns(world):
    shown = {model: len(admin.site._registry[model].list_display) for model in MODELS}

    assert not {model: count for model, count in shown.items() if not 1 <= count <= 7}


def test_an_unknown_id_is_answered_with_a_redirect(superuser):
    wrong = []
    for model in MODELS:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        pages = [reverse(name, args=[unknown]) for unknown in UNKNOWN]
        wrong += [page for page in pages if superuser.get(page).status_code != 302]
    assert not wrong


def test_without_a_session_a_page_leads_to_the_login(world):
    login, wrong = reverse("admin:login"), []
    for page in [*pages_of(world), *(url(model, "add") for model in MODELS)]:
        answer = Client().get(page)
        if answer.status_code != 302 or not answer.url.startswith(login):
            wrong.append(page)
    assert not wrong


def test_charlie_sees_nothing_of_alices(world, charlies, project):
    wrong = []
    shared = [
        reverse(f"admin:{name}") + f"?s={MARK}"
        for name in ("index", "password_change", "jsi18n", "search")
    ]
    adding = [url(model, "add") for model in MODELS]
    for page in [*pages_of(world), *adding, *shared]:
        answer = charlies.get(page)
        shown = without_what_was_typed(answer.content.decode())
        if answer.status_code not in (200, 302, 403) or MARK in shown:
            wrong.append((page, answer.status_code))
        if project.name in shown:
            wrong.append((page, project.name))
    assert not wrong


def without_what_was_typed(html):
    """The page without the searched words and the id that it repeats."""
    html = re.sub(r'name="q"\s+value="[^"]*"', "", html)
    html = re.sub(r'href="[^"]*\?[^"]*"', "", html)
    return re.sub("with ID “[^”]*”", "", html)


def stored(row):
    return type(row)._base_manager.filter(pk=row.pk).values().get()


def try_everything(browser, model, row):
    """Send every action and form of a row."""
    for action in admin.site._registry[model].row_actions:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_do"
        target = reverse(name, args=[quote(row.pk), action.name])
        browser.post(target, {"text": "wrong"})
    browser.post(url(model, "change", row), {"name": "mine", "content": "mine"})
    browser.post(url(model, "delete", row), {"post": "yes"})


@pytest.mark.parametrize("name", ["charlies", "viewer"])
def test_it_changes_nothing_for_charlie_or_a_viewer(
    request, world, browser_of, project, name
):
    if name == "viewer":
        browser = browser_of(Role.VIEWER)
    else:
        browser = request.getfixturevalue(name)
    before = {model: stored(world[model]) for model in MODELS}
    for model in MODELS:
        try_everything(browser, model, world[model])

    assert not [model for model in MODELS if stored(world[model]) != before[model]]


def test_a_viewer_is_offered_no_change(world, browser_of):
    viewer, wrong = browser_of(Role.VIEWER), []
    for model in MODELS:
        html = viewer.get(url(model, "change", world[model])).content.decode()
        if 'name="_save"' in html or "/do/" in html:
            wrong.append(model)
    assert not wrong


def test_a_list_makes_as_many_queries_however_many_rows(world, many, superuser):
    pages = [url(model, "changelist") for model in MODELS]
    for page in pages:
        superuser.get(page)  # the first one fills Django's own caches
    few = {page: len(queries_of(superuser, page)) for page in pages}
    many()

    made = {page: queries_of(superuser, page) for page in pages}

    heavy = ('"content_terms"', '"content_tsv"', '"embedding"')
    assert {page: len(queries) for page, queries in made.items()} == few
    assert not [
        sql
        for queries in made.values()
        for sql in queries
        if any(column in sql.partition(" FROM ")[0] for column in heavy)
    ]


def test_the_first_page_shows_alice_her_own(world, owner):
    assert MARK in owner.get(reverse("admin:index")).content.decode()


def test_it_keeps_a_member_without_staff_status_out(owner):
    owner.account.is_staff = False
    owner.account.save()

    assert owner.get(reverse("admin:index")).status_code == 302
