"""Every list, page, form and history of the admin: for a superuser, for Charlie, for nobody."""

from __future__ import annotations

import re

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse

from tests.admin.conftest import MARK


def models():
    return sorted(admin.site._registry, key=lambda model: model._meta.label)


def url(model, page, row=None):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=[quote(row.pk)] if row else [])


def urls_of(model, row):
    yield url(model, "changelist")
    yield f"{url(model, 'changelist')}?q={MARK}"
    yield url(model, "change", row)
    yield url(model, "history", row)


@pytest.mark.django_db
class TestTheWorld:
    def test_it_holds_a_row_of_every_registered_model(self, world):
        assert set(world) == set(models())


@pytest.mark.django_db
@pytest.mark.parametrize("model", models(), ids=lambda model: model._meta.label)
class TestASuperuser:
    def test_it_sees_every_page_and_hostile_text_only_as_text(
        self, world, superuser, model
    ):
        row = world[model]
        pages = {page: superuser.get(page) for page in urls_of(model, row)}

        assert {
            page: r.status_code for page, r in pages.items() if r.status_code != 200
        } == {}
        shown = {page: response.content.decode() for page, response in pages.items()}
        for page, html in shown.items():
            assert "<script>alert" not in html, page
            assert "<img src=x" not in html, page
            assert "</td></table>W" not in html, page
        assert url(model, "change", row) in shown[url(model, "changelist")]

    def test_it_accepts_anything_in_the_query_of_a_list(self, world, superuser, model):
        shown = superuser.get(url(model, "changelist")).context["cl"]
        names = [n for spec in shown.filter_specs for n in spec.expected_parameters()]
        wrong = ["p=zebra&o=99.x&nonsense=1", f"q={'%22' * 300}"]
        for typed in ("1", "%F0%9F%98%80", "9" * 30):
            wrong.append("&".join(f"{name}={typed}" for name in names))

        for query in wrong:
            response = superuser.get(f"{url(model, 'changelist')}?{query}", follow=True)

            assert response.status_code == 200, query


@pytest.mark.django_db
def test_it_answers_an_unknown_id_with_a_redirect(superuser):
    for model in models():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        for unknown in ("zebra", "_00", "00000000-0000-7000-8000-000000000000"):
            response = superuser.get(reverse(name, args=[unknown]))

            assert response.status_code == 302, (model, unknown)


@pytest.mark.django_db
def test_without_a_session_it_redirects_to_the_login_page(world):
    for model in models():
        for page in [*urls_of(model, world[model]), url(model, "add")]:
            response = Client().get(page)

            assert response.status_code == 302
            assert response.url.startswith(reverse("admin:login"))


@pytest.mark.django_db
@pytest.mark.parametrize("model", models(), ids=lambda model: model._meta.label)
class TestCharlie:
    def test_it_sees_nothing_of_alices(self, world, charlies, project, model):
        row = world[model]
        for page in [*urls_of(model, row), url(model, "add")]:
            response = charlies.get(page, follow=True)

            assert response.status_code in (200, 403), page
            shown = without_what_was_typed(response.content.decode())
            assert MARK not in shown, page
            assert project.name not in shown, page

    def test_it_cannot_act_on_alices_rows(self, world, charlies, model):
        row = world[model]
        before = type(row)._base_manager.filter(pk=row.pk).values().get()
        registered = admin.site._registry[model]
        for action in getattr(registered, "row_actions", ()):
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}_do"
            target = reverse(name, args=[quote(row.pk), action.name])
            charlies.post(target, {"text": "wrong"})
            charlies.post(
                url(model, "changelist"),
                {"action": action.name, "_selected_action": [str(row.pk)]},
            )
        charlies.post(url(model, "change", row), {"name": "mine", "content": "mine"})
        charlies.post(url(model, "delete", row), {"post": "yes"})

        assert type(row)._base_manager.filter(pk=row.pk).values().get() == before


@pytest.mark.django_db
class TestSharedPages:
    @pytest.mark.parametrize("page", ["index", "password_change", "jsi18n", "search"])
    def test_it_shows_charlie_nothing_of_alices(self, world, charlies, project, page):
        html = charlies.get(reverse(f"admin:{page}") + f"?s={MARK}").content.decode()

        assert MARK not in html
        assert project.name not in html

    def test_it_shows_alice_her_own_on_the_first_page(self, world, owner):
        assert MARK in owner.get(reverse("admin:index")).content.decode()

    def test_it_keeps_a_member_without_staff_status_out(self, owner):
        owner.account.is_staff = False
        owner.account.save()

        assert owner.get(reverse("admin:index")).status_code == 302


def without_what_was_typed(html):
    """The page without the searched words and the id that it repeats."""
    html = re.sub(r'name="q"\s+value="[^"]*"', "", html)
    html = re.sub(r'href="[^"]*\?[^"]*"', "", html)
    return re.sub("with ID “[^”]*”", "", html)
