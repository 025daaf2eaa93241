from __future__ import annotations

import pytest
from django.urls import reverse

from common.caller import Role
from memories.queries import Filters
from memories.read import search
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft

TEXTS = [
    "The tide feed sends local time without an offset",
    "Invoices keep integer cents and never floats",
    "Retry the customs interface with jitter after an answer 429",
    "The tide table is loaded with bulk_update in batches",
    "Pilots are assigned by a queue of licence classes",
]


@pytest.fixture
def memories(project, alice):
    drafts = [Draft(content=text, memory_type="learning") for text in TEXTS]
    drafts.append(Draft(content="A tide warning of the harbour", memory_type="warning"))
    return [write.store(project, draft, alice).memory for draft in drafts]


def listed(browser, query):
    page = browser.get(reverse("admin:memories_memory_changelist") + f"?{query}")
    assert page.status_code == 200
    return [row.pk for row in page.context["cl"].result_list]


@pytest.mark.django_db
class TestMemories:
    @pytest.mark.parametrize(
        "query", ["tide table", "tide time offset", "429", "cents"]
    )
    def test_it_lists_the_results_of_the_product_in_their_order(
        self, owner, project, alice, memories, query
    ):
        request = search.MemorySearch(query=query, limit=100)
        wanted = [hit.memory.pk for hit in search.find(project, request, alice).hits]

        assert listed(owner, f"q={query}") == wanted

    def test_it_lists_the_results_of_the_api(self, owner, project, alice_api, memories):
        body = {"project_id": str(project.pk), "query": "tide table", "limit": 100}
        answer = alice_api.post("/api/v1/search", body).json()

        wanted = [hit["memory"]["id"] for hit in answer["hits"]]
        assert [str(pk) for pk in listed(owner, "q=tide table")] == wanted

    def test_it_searches_with_the_filters_of_the_list(
        self, owner, project, alice, memories
    ):
        request = search.MemorySearch(
            query="tide", limit=100, filters=Filters(memory_types=("learning",))
        )
        wanted = [hit.memory.pk for hit in search.find(project, request, alice).hits]

        assert listed(owner, "q=tide&memory_type=learning") == wanted

    @pytest.mark.parametrize(
        "scope",
        [
            Scope("user", "dora"),
            Scope("session", "s1", user="dora"),
            Scope("object", "b7", type="berth"),
        ],
    )
    @pytest.mark.parametrize("named", ["scope_kind={0.kind}", "scope_key={0.key}"])
    def test_it_searches_in_the_scopes_that_the_filters_leave(
        self, owner, project, alice, memories, scope, named
    ):
        content = "The tide table of one of them"
        draft = Draft(content=content, memory_type="learning", scope=scope)
        theirs = write.store(project, draft, alice).memory

        assert listed(owner, f"q=tide table&{named.format(scope)}") == [theirs.pk]

    def test_it_asks_for_a_key_when_there_are_too_many_scopes(
        self, owner, project, alice, memories, monkeypatch
    ):
        monkeypatch.setattr("memories.admin.list_search.MAX_SCOPES", 1)
        for user in ("dora", "emil"):
            draft = Draft(
                content=f"The tide table of {user}",
                memory_type="learning",
                scope=Scope("user", user),
            )
            write.store(project, draft, alice)
        address = reverse("admin:memories_memory_changelist")

        html = owner.get(f"{address}?q=tide&scope_kind=user").content.decode()

        assert "Name the key of the scope" in html

    @pytest.mark.parametrize("state", ["superseded", "expired", "archived", "deleted"])
    def test_it_says_what_is_not_searched(self, owner, memories, state):
        address = reverse("admin:memories_memory_changelist")

        html = owner.get(f"{address}?q=tide&state={state}").content.decode()

        assert "Only current memories and duplicates are searched" in html

    def test_it_searches_by_keyword_alone_when_asked(
        self, owner, project, alice, memories
    ):
        request = search.MemorySearch(query="tide", mode="keyword", limit=100)
        wanted = [hit.memory.pk for hit in search.find(project, request, alice).hits]

        assert listed(owner, "q=tide&mode=keyword") == wanted

    def test_it_shows_the_snippet_with_marked_words(self, owner, memories):
        address = reverse("admin:memories_memory_changelist")

        html = owner.get(f"{address}?q=cents").content.decode()

        assert "<mark>cents</mark>" in html

    def test_it_searches_every_visible_project_and_no_other(
        self, browser_of, project, other_project, charlie, memories
    ):
        theirs = write.store(
            other_project,
            Draft(content="Another tide table", memory_type="learning"),
            charlie,
        ).memory
        both = browser_of(Role.VIEWER)
        both.account.memberships.create(project=other_project, role=Role.VIEWER)
        mine = browser_of(Role.VIEWER, name="only")

        assert theirs.pk in listed(both, "q=tide table")
        assert theirs.pk not in listed(mine, "q=tide table")

    def test_it_asks_for_a_project_when_there_are_too_many(
        self, superuser, memories, monkeypatch
    ):
        monkeypatch.setattr("memories.admin.list_search.MAX_PROJECTS", 0)
        address = reverse("admin:memories_memory_changelist")

        html = superuser.get(f"{address}?q=tide").content.decode()

        assert "Choose a project" in html


@pytest.mark.django_db
class TestEntries:
    def test_it_finds_by_words_and_puts_a_typed_label_first(self, owner, an_entry):
        other = an_entry("general-00001", content="Guard the length before dividing")
        named = an_entry("general-00002", content="Keep money in integer cents")
        address = reverse("admin:playbook_playbookentry_changelist")

        by_words = owner.get(f"{address}?q=dividing length").context["cl"].result_list
        by_label = owner.get(f"{address}?q=general-00002").context["cl"].result_list

        assert by_words[0].pk == other.pk
        assert by_label[0].pk == named.pk

    def test_it_finds_nothing_of_another_project(self, charlies, an_entry):
        an_entry("general-00001", content="Guard the length before dividing")
        address = reverse("admin:playbook_playbookentry_changelist")

        page = charlies.get(f"{address}?q=dividing length")

        assert list(page.context["cl"].result_list) == []
