"""Where a filter keeps few facts, both lanes score all of them; nobody can tell."""

from __future__ import annotations

import pytest

from memories.queries import Filters
from memories.read import narrow
from projects.models import Project
from search import keyword, nearest_rows, postings, semantic

FACTS = Filters(kinds=("fact",))


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch):
    monkeypatch.setattr(semantic, "DEPTH", 4)
    monkeypatch.setattr(semantic, "NEAREST", 6)
    monkeypatch.setattr(postings, "CANDIDATE_ROWS", 3)


@pytest.fixture
def _memories(remember):
    for n in range(9):
        shared = " ".join(f"shared{m}" for m in range(n))
        remember(f"apple {shared} own{n}", kind="fact" if n % 3 == 0 else "note")


def hits_of(found):
    return [(hit.memory.pk, hit.score, hit.lanes) for hit in found]


@pytest.mark.usefixtures("_memories")
class TestFewFacts:
    @pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
    @pytest.mark.parametrize("query", ["apple own3", "shared1 shared2", "nothing"])
    def test_it_finds_what_the_lanes_find_one_after_the_other(
        self, search, monkeypatch, mode, query
    ):
        at_once = hits_of(search(query, mode=mode, filters=FACTS))
        monkeypatch.setattr(narrow, "MAX_ROWS", 2)
        in_turn = hits_of(search(query, mode=mode, filters=FACTS))

        assert at_once == in_turn

    def test_phrases_and_exclusions_hold(self, search):
        query = '"own3" -shared4'

        found = search(query, syntax="operators", filters=FACTS)

        assert [hit.memory.content.split()[-1] for hit in found] == ["own3"]

    def test_each_lane_asks_once(self, search, monkeypatch):
        asked = []
        for module, name in (
            (keyword, "_fetch_best"),
            (nearest_rows._NearestSearch, "probe"),
        ):
            monkeypatch.setattr(module, name, lambda *given, **how: asked.append(1))

        assert search("apple own3", filters=FACTS)
        assert asked == []

    def test_explain_says_that_all_are_scored(self, bob_api, project):
        asked = {
            "project_id": str(project.pk),
            "query": "apple own3",
            "kinds": ["fact"],
            "explain": True,
        }

        answer = bob_api.post("/api/v1/search", asked, format="json").json()

        lane = answer["explanation"]["semantic_lane"]
        assert lane["how"] == "exact"
        assert lane["why"] == "the filters keep few rows"


class TestWhatIsNarrow:
    def test_few_facts_and_episodes_are(self, project, remember):
        remember("an apple", kind="fact")

        assert narrow.is_narrow(project, FACTS)
        assert narrow.is_narrow(project, Filters(kinds=("fact", "episode")))
        assert narrow.is_narrow(project, Filters(past_tasks=True))

    @pytest.mark.parametrize(
        "filters",
        [
            Filters(),
            Filters(kinds=("note",)),
            Filters(kinds=("fact", "note")),
            Filters(kinds=("fact",), include_duplicates=True),
        ],
    )
    def test_other_filters_are_not(self, project, filters):
        assert not narrow.is_narrow(project, filters)

    def test_many_facts_are_not(self, project, remember, monkeypatch):
        monkeypatch.setattr(narrow, "MAX_ROWS", 1)
        remember("an apple", kind="fact")
        assert narrow.is_narrow(project, FACTS)
        remember("a pear", kind="fact")

        assert not narrow.is_narrow(project, FACTS)

    def test_another_project_does_not_count(
        self, project, remember, organization, monkeypatch
    ):
        monkeypatch.setattr(narrow, "MAX_ROWS", 0)
        beta = Project.objects.create(organization=organization, name="beta")
        remember("an apple", kind="fact", where=beta)

        assert narrow.is_narrow(project, FACTS)
