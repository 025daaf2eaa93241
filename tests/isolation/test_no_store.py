"""No answer is kept by a browser or a proxy: the next person at the screen may not read it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from tests.isolation.route_table import TABLE, send
from tests.isolation.world import undone

pytestmark = pytest.mark.django_db


def test_every_route_says_so_to_everybody(alices, alice_api):
    wrong = []
    for route in TABLE:
        for client in (alice_api, APIClient(REMOTE_ADDR="192.0.2.7")):
            with undone():
                answer = send(client, route, alices)
            if answer.get("Cache-Control") != "no-store":
                wrong.append(f"{route.name}: {answer.status_code}")

    assert not wrong


@pytest.mark.parametrize(
    "path", ["/metrics", "/readyz", "/api/v1/nowhere", "/api/nowhere", "/api/schema"]
)
def test_so_do_the_other_answers(client, path):
    assert client.get(path)["Cache-Control"] == "no-store"


def test_a_body_that_is_refused_early_says_so(client):
    answer = client.post("/api/v1/memories", b"{", content_type="application/json")

    assert answer.status_code >= 400
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("is_signed_in", [True, False])
@pytest.mark.parametrize("name", ["index", "login", "memories_memory_changelist"])
def test_pages_for_people_say_so(name, is_signed_in):
    browser = Client()
    if is_signed_in:
        person = User.objects.create_user("ann", is_staff=True, is_superuser=True)
        browser.force_login(person)

    answer = browser.get(reverse(f"admin:{name}"))

    assert answer["Cache-Control"] == "private, no-store"


def test_static_files_may_be_kept(client):
    answer = client.get("/static/admin/memory.css")

    assert answer.status_code == 200
    assert "no-store" not in answer.get("Cache-Control", "")
