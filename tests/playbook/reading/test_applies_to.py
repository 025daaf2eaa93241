from __future__ import annotations

import pytest

from playbook.history import replay
from playbook.lessons import person_edits
from playbook.models import PlaybookChange
from tests.playbook.conftest import propose

URL = "/api/v1/playbook"


@pytest.fixture
def render(alice_api, project):
    def get(task, **query):
        query = {"project_id": project.pk, "task": task} | query
        answer = alice_api.get(f"{URL}/render", query).json()
        return [(entry["label"], entry["reason"]) for entry in answer["entries"]]

    return get


class TestRender:
    def test_process_rules_come_first_then_those_of_the_tool(self, render, write):
        near = write("Import the products of the new supplier at night.")
        of_tool = write("Pass the flag for quiet output.", applies_to=["tool:rsync"])
        always = write("Write a changelog line.", applies_to=["always"])

        assert render("import the products of the new supplier with rsync") == [
            (always.label, "applies always"),
            (of_tool.label, "the task uses rsync"),
            (near.label, "speaks of the task"),
        ]

    def test_tools_and_files_at_hand_count(self, render, write):
        of_tool = write("Pass the flag for quiet output.", applies_to=["tool:rsync"])
        of_path = write("Keep the titles short.", applies_to=["path:docs/**"])

        found = render("mend it", tools="rsync", files="docs/a.md")

        assert {label for label, why in found if why.startswith("the task")} == {
            of_tool.label,
            of_path.label,
        }


class TestEditing:
    def test_a_curator_sets_it_and_the_history_replays_it(
        self, alice_api, project, write
    ):
        entry = write()
        body = {"applies_to": ["tool:gh", "path:docs/**"], "reason": "only there"}

        alice_api.patch(f"{URL}/rules/{entry.pk}", body)

        entry.refresh_from_db()
        assert entry.applies_to == ["tool:gh", "path:docs/**"]
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_another_form_is_refused(self, alice_api, write):
        body = {"applies_to": ["everywhere"]}

        answer = alice_api.patch(f"{URL}/rules/{write().pk}", body)

        assert answer.status_code == 400
        assert "applies_to" in answer.json()["errors"]

    def test_the_history_of_an_older_entry_is_replayed(self, project, write):
        write()
        change = PlaybookChange.objects.get(project_id=project.pk)
        older = {n: v for n, v in change.after.items() if n != "applies_to"}

        states = replay.fold([(change.entry_id, None, older)])

        assert states[change.entry_id]["applies_to"] == []


class TestProposals:
    @pytest.mark.parametrize("value", ["always", "tool:docker"])
    def test_an_agent_cannot_make_a_rule_reach_others_by_itself(
        self, project, bob, learned, value
    ):
        text = "Run `make lint` before `git push`."

        wanted = learned(text, producer="model", applies_to=(value,))
        [delta] = propose(project, [wanted], bob)

        assert (delta.status, delta.applies_to) == ("pending", [value])

    def test_a_person_decides_where_a_proposal_applies(self, project, alice, bob):
        wanted = person_edits.addition(
            {"content": "Run `make lint` first.", "category": "general"}, bob, reason=""
        )
        entry = person_edits.submit_edit(project, wanted, alice).entry

        change = person_edits.change(
            entry, {"applies_to": ["always"]}, alice, reason="", version=None
        )
        person_edits.submit_edit(project, change, alice)

        entry.refresh_from_db()
        assert entry.applies_to == ["always"]
