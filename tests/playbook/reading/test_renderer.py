from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import Forbidden, NotFound
from inference import tokens
from inference.embedding import fake
from playbook.models import PlaybookEntry
from playbook.reading import relevance, renderer
from playbook.reading.relevance import Relevance, Relevances

URL = "/api/v1/playbook/render"
TASK = "import the products of the new supplier"


@pytest.fixture
def read(alice_api, project):
    def get(api=alice_api, **query):
        return api.get(URL, {"project_id": project.pk} | query)

    return get


@pytest.fixture
def set_votes():
    def change(entry, **counts):
        PlaybookEntry.objects.filter(pk=entry.pk).update(**counts)

    return change


@pytest.fixture
def judged(monkeypatch):
    """Say what is relevant instead of measuring it: {entry: (cosine, lead)}."""

    def set_to(found):
        by_id = {
            entry.pk: Relevance(similarity, lead >= 0, lead)
            for entry, (similarity, lead) in found.items()
        }
        monkeypatch.setattr(relevance, "measure", lambda *a: Relevances(by_id))

    return set_to


def labels(answer):
    return [entry["label"] for entry in answer.json()["entries"]]


class TestOrder:
    def test_relevant_entries_come_before_helpful_ones(self, read, write, set_votes):
        proven = write("Keep the lock file up to date.")
        set_votes(proven, helpful=9)
        fitting = write("Import the products of the new supplier at night.")

        assert labels(read(task=TASK)) == [fitting.label, proven.label]
        assert labels(read()) == [proven.label, fitting.label]

    def test_pinned_entries_are_first_whatever_the_task(self, read, write):
        write("Import the products of the new supplier at night.")
        pinned = write("Ask before you delete anything.", pinned=True)

        answer = read(task=TASK)

        assert labels(answer)[0] == pinned.label
        assert answer.json()["entries"][0]["reason"] == "pinned"

    def test_above_the_gate_the_lead_decides(self, read, write, judged):
        near, trusted = write("Close the file first."), write("Open the file last.")
        judged({near: (0.9, 0.1), trusted: (0.8, 0.2)})

        assert labels(read(task=TASK)) == [trusted.label, near.label]

    def test_below_the_gate_a_shared_identifier_counts(self, read, write, judged):
        near = write("Close what was opened before the work ends.")
        named = write("Never call `sync_stock` twice.")
        judged({near: (0.5, -0.2), named: (0.1, -0.6)})

        answer = read(task="why does sync_stock fail at night")

        assert labels(answer) == [named.label, near.label]
        reason = answer.json()["entries"][0]["reason"]
        assert reason == "below the gate, shares words with the task"

    def test_identical_input_gives_identical_bytes(self, read, write):
        for n in range(12):
            write(f"Rule {n} of the import: check the supplier.")

        assert len({read(task=TASK, token_budget=60).content for _ in range(3)}) == 1


class TestGate:
    def test_each_line_says_how_relevant_it_is(self, read, write):
        write(TASK)
        write("Paint every harbour green.")

        first, second = read(task=TASK).json()["entries"]

        assert (first["is_relevant"], first["reason"]) == (True, "speaks of the task")
        assert first["relevance"] > 0.9 > 0.6 > second["relevance"]
        assert second["is_relevant"] is False

    def test_without_a_task_there_is_no_relevance(self, read, write):
        write()

        [entry] = read().json()["entries"]

        assert (entry["relevance"], entry["is_relevant"]) == (None, None)

    def test_relevant_only_leaves_out_other_entries(self, read, write):
        fits = write(TASK)
        pinned = write("Ask before you delete anything.", pinned=True)
        write("Paint every harbour green.")

        answer = read(task=TASK, relevant_only="true")

        assert labels(answer) == [pinned.label, fits.label]
        assert answer.json()["left_out"] == {"budget": 0, "below_gate": 1}

    def test_without_the_embedder_nothing_is_relevant_and_a_note_says_so(
        self, read, write
    ):
        write(TASK)
        with fake.outage():
            answer = read(task=TASK, relevant_only="true").json()

        assert answer["text"] == ""
        assert "relevance" in answer["notes"][0]

    def test_relevant_only_needs_a_task(self, read):
        answer = read(relevant_only="true")

        assert answer.status_code == 400
        assert "relevant_only" in answer.json()["errors"]


class TestMarks:
    def test_a_contested_entry_is_marked_and_not_hidden(self, read, write, set_votes):
        entry = write("Paint every harbour green.")
        set_votes(entry, helpful=1, harmful=1)

        answer = read().json()

        assert answer["text"] == f"{entry.line} (contested)\n"
        assert answer["entries"][0]["is_contested"] is True

    def test_a_due_entry_has_no_mark_in_its_text(self, read, write):
        entry = write(review_after="2020-01-01T00:00:00Z")

        answer = read().json()

        assert answer["text"] == f"{entry.line}\n"
        assert answer["entries"][0]["is_due"] is True


class TestCallers:
    def test_charlie_gets_nothing(self, project, charlie, write):
        write()
        with pytest.raises(NotFound):
            renderer.render(project, charlie)

    def test_a_foreign_agent_id_is_refused(self, client_of, project):
        api = client_of(project, agent_id="agent-7")
        answer = api.get(URL, {"project_id": project.pk, "agent_id": "agent-8"})

        assert (answer.status_code, answer.json()["code"]) == (
            Forbidden.status,
            "agent_mismatch",
        )


class TestQueries:
    def test_it_takes_a_fixed_number_of_queries(
        self, project, alice, write, django_assert_num_queries
    ):
        write(TASK)
        renderer.render(project, alice, task=TASK)
        with django_assert_num_queries(10):
            renderer.render(project, alice, task=TASK)
        for n in range(10):
            write(f"Rule {n}: {TASK}")

        with django_assert_num_queries(10):
            assert (
                len(renderer.render(project, alice, task=TASK).rendered_entries) == 11
            )


class Line:
    least_size = 0

    def __init__(self, line):
        self.line = line


class TestFitting:
    @given(
        st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60)),
        st.integers(min_value=1, max_value=60),
    )
    def test_it_never_exceeds_a_budget_and_cuts_no_line(self, texts, budget):
        taken = renderer.fit_budget([Line(text) for text in texts], budget)

        whole = "".join(f"{line.line}\n" for line in taken)
        assert tokens.estimate(whole) <= budget
        rest = iter(texts)
        assert all(line.line in rest for line in taken)

    @given(st.lists(st.text("añ字😀", min_size=1, max_size=20), max_size=20))
    def test_it_passes_over_only_what_does_not_fit(self, texts):
        taken = renderer.fit_budget([Line(text) for text in texts], 10)

        room = 40
        for text in texts:
            size = len(text.encode()) + 1
            if size <= room:
                assert taken.pop(0).line == text
                room -= size
        assert taken == []
