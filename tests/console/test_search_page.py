"""The search page: it has the API's fields, answers and refusals."""

from __future__ import annotations

import re
import uuid
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from common.caller import Role
from console.search.search_form import FIELDSETS, SearchForm
from memories.models import Memory
from memories.serializers.search import SearchRequest
from memories.store import files, write
from memories.store.drafts import Draft, FileRef
from tests.admin.conftest import MARK, queries_of

pytestmark = pytest.mark.django_db
SEARCH = reverse("console:search")
API = "/api/v1/search"


@pytest.fixture
def stored_memories(project, alice):
    def make(content, **fields):
        draft = Draft(content=content, memory_type="learning", **fields)
        return write.store(project, draft, alice).memory

    return make


def answer(browser, project, status=200, **asked):
    given = urlencode({"project": project.pk, **asked}, doseq=True)
    page = browser.get(f"{SEARCH}?{given}")
    assert page.status_code == status
    return page


def page_html(*args, **asked):
    return answer(*args, **asked).content.decode()


def hits_of(page):
    return [(str(one.memory.pk), one.score) for one in page.context["hits"]]


# What the form is given, and what the API is asked instead.
ASKED = [
    ({}, {}),
    ({"mode": "keyword"}, {"mode": "keyword"}),
    ({"mode": "semantic", "limit": "2"}, {"mode": "semantic", "limit": 2}),
    ({"tags": "sea, ebb"}, {"tags": ["sea", "ebb"]}),
    (
        {"tags": "sea,ebb", "tags_match": "any"},
        {"tags": ["sea", "ebb"], "tags_match": "any"},
    ),
    ({"file_paths": "src/*\nx.py"}, {"file_paths": ["src/*", "x.py"]}),
    ({"memory_types": ["warning", "learning"]}, {"memory_types": ["learning"]}),
    ({"kinds": "fact"}, {"kinds": ["fact"]}),
    ({"agent_ids": "other"}, {"agent_ids": ["other"]}),
    ({"date_from": "2999-01-01T00:00"}, {"date_from": "2999-01-01T00:00"}),
    ({"sensitivities": "sensitive"}, {"sensitivities": ["sensitive"]}),
    (
        {"scope": "user", "scope_key": "u1"},
        {"scope": {"kind": "user", "user_id": "u1"}},
    ),
    (
        {"keyword": "0.9", "semantic": "0.1", "fusion": "rrf"},
        {"weights": {"keyword": 0.9, "semantic": 0.1}, "fusion": "rrf"},
    ),
    ({"min_score": "0.4"}, {"min_score": 0.4}),
    ({"cutoff": "auto"}, {"cutoff": "auto"}),
    ({"metadata": '{"port": 8080}'}, {"metadata": {"port": 8080}}),
    ({"include_duplicates": "on"}, {"include_duplicates": True}),
    ({"query": "tide -wave"}, {"query": "tide -wave", "syntax": "operators"}),
    ({"query": "tide -wave", "syntax": "plain"}, {"query": "tide -wave"}),
]
REFUSED = [
    ({"query": ""}, {"query": ""}),
    ({"limit": "0"}, {"limit": 0}),
    ({"limit": "many"}, {"limit": "many"}),
    ({"keyword": "2"}, {"weights": {"keyword": 2}}),
    (
        {"keyword": "0", "semantic": "0"},
        {"weights": {"keyword": 0, "semantic": 0}},
    ),
    ({"min_score": "x"}, {"min_score": "x"}),
    ({"scope": "user"}, {"scope": {"kind": "user"}}),
    ({"date_from": "soon"}, {"date_from": "soon"}),
    ({"tags": "t" * 65}, {"tags": ["t" * 65]}),
    ({"metadata": "port=8080"}, {"metadata": "port=8080"}),
    ({"metadata": '{"a": {"near": 1}}'}, {"metadata": {"a": {"near": 1}}}),
]


class TestItIsTheApisSearch:
    def test_it_has_every_field_of_the_api(self):
        asked = {name for names in FIELDSETS.values() for name in names}
        asked |= {"query", "mode", "limit"}

        assert asked == set(SearchForm.base_fields)
        # The weights are two fields here. The project and the fields are the page's.
        own = {"keyword", "semantic", "scope_key", "scope_user", "object_type"}
        there = set(SearchRequest().fields) - {"weights", "project_id", "project"}
        there -= {"fields"}
        assert asked - own == there

    def test_it_finds_what_the_api_finds(
        self, browser_of, alice_api, project, stored_memories
    ):
        stored_memories("The tide feed sends local time", tags=("sea",))
        stored_memories("Ebb tide tables are late", tags=("sea", "ebb"))
        stored_memories("Tide gauges need salt water", files=(FileRef("src/gauge.py"),))
        stored_memories("A tide is no wave", agent_id="other")
        stored_memories("Tides are served on a port", metadata={"port": 8080})
        browser = browser_of(Role.VIEWER)

        for asked, body in ASKED:
            page = answer(browser, project, **{"query": "tide"} | asked)
            given = {"project_id": str(project.pk), "query": "tide", **body}
            hits = alice_api.post(API, given, format="json").json()["hits"]
            wanted = [(hit["memory"]["id"], f"{hit['score']:.3f}") for hit in hits]
            assert hits_of(page) == wanted, asked

    def test_it_refuses_with_the_messages_of_the_api(self, curator, alice_api, project):
        for asked, body in REFUSED:
            html = page_html(curator, project, status=400, **{"query": "tide"} | asked)
            given = {"project_id": str(project.pk), "query": "tide", **body}
            refused = alice_api.post(API, given, format="json")
            assert refused.status_code >= 400
            problem = refused.json()
            messages = [one for field in problem["errors"].values() for one in field]
            for words in messages or [problem["detail"]]:
                assert words.replace("'", "&#x27;") in html, asked
            assert 'role="alert"' in html


class TestThePage:
    def test_a_hit_shows_its_scores_and_links(
        self, browser_of, project, stored_memories
    ):
        memory = stored_memories(
            "The tide feed is late", files=(FileRef("src/feed.py"),)
        )

        html = page_html(browser_of(Role.VIEWER), project, query="tide")

        assert "The <mark>tide</mark> feed is late" in html
        assert re.search(r"keyword #1 0\.\d{3}|keyword #1 \d", html)
        assert "semantic #1" in html
        assert reverse("admin:memories_memory_change", args=[memory.pk]) in html
        assert f"{reverse('console:file')}?project={project.pk}&amp;path=src" in html

    def test_the_query_stays_in_the_form(self, curator, project):
        html = page_html(
            curator, project, query="tide", tags="sea", kinds="fact", scope="org"
        )

        assert 'value="tide"' in html
        assert 'value="sea"' in html
        assert re.search(r'value="fact"[^>]*checked', html)
        assert re.search(r'value="org" selected', html)
        assert "explain: kinds, tags, kind</summary>" in html
        assert '<details class="se-more">' in html

    def test_it_says_what_operators_do_and_what_they_left_out(
        self, curator, project, stored_memories
    ):
        stored_memories("The tide feed is late")

        empty = page_html(curator, project)
        found = page_html(curator, project, query="tide -feed")

        assert "-word leaves out what holds the word" in empty
        assert "The operators left out 1 of the 1 best rows" in found

    def test_explain_shows_terms_lanes_and_weights(
        self, curator, project, stored_memories
    ):
        stored_memories("The tide feed is late")

        html = page_html(
            curator, project, query="tide feed", explain="on", keyword="0.7"
        )

        for told in (
            "Memories that pass the filters",
            "Candidates: keyword",
            "exact: ",
            "relative",
            "0.7",
            "Words searched for",
        ):
            assert told in html

    def test_it_does_not_search_before_the_first_query(self, curator, project):
        html = page_html(curator, project, file_paths="src/a.py")

        assert "The search that agents use" in html
        assert "src/a.py</textarea>" in html
        assert 'role="alert"' not in html

    def test_no_hit_says_what_to_do(self, curator, project):
        assert "No memory matches" in page_html(curator, project, query="tide")

    def test_charlie_finds_nothing_of_it(self, charlies, project, stored_memories):
        stored_memories(f"{MARK} tide")

        assert MARK not in charlies.get(f"{SEARCH}?query=tide").content.decode()
        page_html(charlies, project, status=404, query="tide")

    def test_hostile_texts_are_text(self, owner, project, world):
        Memory.objects.filter(pk=world[Memory].pk).update(
            deleted_at=None, superseded_by=None, scope_kind="workspace"
        )

        html = page_html(owner, project, query=f"{MARK} <script>alert(3)</script>")

        assert MARK in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html

    @pytest.mark.parametrize("project_id", ["zebra", str(uuid.UUID(int=1))])
    def test_another_project_is_not_there(self, curator, project_id):
        assert curator.get(SEARCH, {"project": project_id}).status_code == 404

    def test_it_asks_the_same_queries_however_much_it_finds(
        self, owner, project, alice, stored_memories
    ):
        url = f"{SEARCH}?project={project.pk}&query=tide&limit=100&explain=on"

        def fill(number):
            memory = stored_memories(f"Tide {number} of the harbour")
            [file] = files.ensure(project, [f"src/{number}.py"]).values()
            memory.file_links.create(file=file)

        fill(0)
        queries_of(owner, url)
        few = len(queries_of(owner, url))
        for number in range(1, 6):
            fill(number)

        # Session, account, roles, projects, waiting changes, the project; then what
        # the API's search, without the stems, which are cached.
        assert len(queries_of(owner, url)) == few == 11
