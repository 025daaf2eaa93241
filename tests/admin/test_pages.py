"""Every page beside lists and rows: who opens it, hostile text, wrong input, its queries."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.caller import Caller, Role
from inference.models import ActiveModel
from memories.models import Memory
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft
from playbook.proposals import person_edits
from projects.models import Membership, Project
from tests.admin.conftest import MARK, SCRIPT
from tests.admin.test_lists import queries_of

pytestmark = pytest.mark.django_db

# {page: what is asked of it}
ASKED = {
    "context_digestconfig_preview": {"agent_id": SCRIPT, "query": MARK, "user_id": "u"},
    "playbook_playbook_preview": {"task": MARK, "token_budget": 900},
    "playbook_playbook_export": {"format": "ace"},
    "playbook_playbook_import": {"format": "ace", "producer": "model"},
    "memories_memory_promote": {"target": "org"},
    "memories_memory_compact": {"content": SCRIPT},
    "memories_memory_purge": {"reason": SCRIPT},
    "memories_memory_compaction": {},
    "memories_memory_quotas": {},
    "memories_purge_purge": {"of_what": "user_id", "key": SCRIPT, "reason": MARK},
}


def pages():
    for registered in admin.site._registry.values():
        for page in getattr(registered, "pages", ()):
            yield registered._url_name(page), page


EVERY = sorted(pages())
NAMES = [name for name, _ in EVERY]


def asked(name, world, project):
    about = {"project": project.pk}
    of_project = name.endswith(("_compaction", "_quotas"))
    if name.startswith("memories_memory_") and not of_project:
        about = {"memories": world[Memory].pk}
    return {**ASKED[name], **about}


@pytest.fixture
def beta(world, project):
    """Another project of Alice's, with a playbook that came about as others do."""
    # The world's choice of a model is hostile, too; here texts are embedded.
    ActiveModel.objects.all().delete()
    beta = Project.objects.create(organization=project.organization, name="harbour-b")
    caller = Caller(name=f"user:{SCRIPT}", roles={beta.pk: Role.OWNER})
    wanted = {"content": SCRIPT, "condition": SCRIPT, "category": "gotchas"}
    delta = person_edits.submit_edit(
        beta, person_edits.addition(wanted, caller, reason=SCRIPT), caller
    )
    changes = {"content": f"Mind {SCRIPT}", "tags": ["<b>"]}
    wanted = person_edits.change(delta.entry, changes, caller, reason=SCRIPT, version=1)
    person_edits.submit_edit(beta, wanted, caller)
    keep_few_memories(beta, caller)
    return beta


def keep_few_memories(beta, caller):
    """Quotas that are used, and a plan of compaction, of a user with a hostile id."""
    beta.settings = {"quotas": {"per_user": 9}, "compaction": {"at_least": 2}}
    beta.save()
    for number in ("first", "second"):
        draft = Draft(
            content=f"The {number} pier of the harbour has other ropes: {number}.",
            memory_type="learning",
            scope=Scope("user", f"{MARK}{SCRIPT}"),
        )
        write.store(beta, draft, caller)
    long_ago = timezone.now() - timedelta(days=99)
    Memory.objects.filter(project=beta).update(created_at=long_ago)


def send(browser, name, page, given):
    url = reverse(f"admin:{name}")
    if page.uses_post:
        content = {"content": f"[gotchas-00077] :: {SCRIPT}"}
        return browser.post(url, content | given, follow=True)
    return browser.get(f"{url}?{urlencode(given)}")


def test_this_test_covers_every_page():
    assert set(ASKED) == set(NAMES)


@pytest.mark.parametrize(("name", "page"), EVERY, ids=NAMES)
class TestEveryPage:
    def test_it_opens_and_answers_with_hostile_text_as_text(
        self, world, superuser, beta, name, page
    ):
        blank = superuser.get(reverse(f"admin:{name}"))
        answer = send(superuser, name, page, asked(name, world, beta))

        assert blank.status_code == answer.status_code == 200
        assert MARK in answer.content.decode()
        if answer["Content-Type"].startswith("text/html"):
            html = answer.content.decode()
            assert "<script>alert" not in html
            assert "<img src=x" not in html

    def test_charlie_sees_nothing_of_alices(self, world, charlies, beta, name, page):
        before = Memory.objects.count()

        html = send(charlies, name, page, asked(name, world, beta)).content.decode()

        for typed in (SCRIPT, "&lt;script&gt;"):
            html = html.replace(typed, "")
        assert beta.name not in html
        assert str(world[Memory]) not in html
        assert Memory.objects.count() == before

    def test_only_roles_that_can_open_it_get_a_link(
        self, world, browser_of, name, page
    ):
        model, _, _ = name.rpartition("_")
        for role in Role:
            browser = browser_of(role)
            row = world[next(m for m in world if m._meta.label_lower == dotted(model))]
            link = reverse(f"admin:{name}")
            status = browser.get(link).status_code
            address = reverse(f"admin:{model}_changelist")
            html = browser.get(address).content.decode()
            html += browser.get(f"{address}{row.pk}/change/").content.decode()

            assert status == (200 if role >= page.role else 403), role
            if role < page.role:
                assert link not in html
                assert f'value="{page.name}"' not in html

    def test_it_refuses_errors_in_words(self, world, superuser, beta, name, page):
        wrong = ["zebra", "😀", "9" * 30, "0" * 40, ""]
        for value in wrong:
            given = dict.fromkeys(asked(name, world, beta), value)

            assert send(superuser, name, page, given).status_code == 200, value

    def test_without_a_session_it_redirects_to_the_login_page(self, world, name, page):
        response = Client().get(reverse(f"admin:{name}"))

        assert response.status_code == 302
        assert response.url.startswith(reverse("admin:login"))


def dotted(model):
    return model.replace("_", ".", 1)


# Session, account, roles, names of projects, waiting changes; then what the page asks.
SHELL = 5


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("context_digestconfig_preview", 11),
        ("playbook_playbook_export", 1),
    ],
)
def test_it_takes_as_many_queries_however_many_rows(
    world, many, owner, beta, name, queries
):
    Membership.objects.create(project=beta, account=owner.account, role=Role.VIEWER)
    query = urlencode(asked(name, world, beta))

    made = queries_of(owner, f"{reverse(f'admin:{name}')}?{query}")

    assert len(made) == SHELL + queries, "\n\n".join(made)


@pytest.fixture
def many(beta):
    caller = Caller(name="alice", roles={beta.pk: Role.OWNER})
    for number in ("first", "second", "third"):
        text = f"Moor the {number} boat at the pier of {MARK}."
        write.store(
            beta, Draft(content=text, memory_type="learning", agent_id=SCRIPT), caller
        )
        wanted = {"content": text, "category": "gotchas"}
        person_edits.submit_edit(
            beta, person_edits.addition(wanted, caller, reason=""), caller
        )
