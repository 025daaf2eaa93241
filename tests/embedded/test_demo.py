from __future__ import annotations

import pytest

from ace.models import AceRun
from embedded import demo
from memories.models import File, Memory, PossibleDuplicate
from playbook.models import PlaybookDelta, PlaybookEntry
from projects.models import Project


@pytest.fixture
def demo_project(db):
    return demo.seed()


@pytest.fixture
def memories(demo_project):
    return Memory.objects.filter(project=demo_project)


class TestSeed:
    def test_it_makes_the_demo_project(self, demo_project):
        assert Project.objects.get() == demo_project
        assert demo_project.name == "demo"

    def test_it_does_nothing_the_second_time(self, demo_project):
        before = Memory.objects.count()

        again = demo.seed()

        assert again is None
        assert Memory.objects.count() == before

    def test_it_leaves_an_installation_with_a_project_alone(self, project):
        assert demo.seed() is None
        assert Project.objects.get() == project

    def test_it_does_not_come_back_after_it_was_deleted(self, demo_project):
        demo_project.hide()
        demo_project.save()

        assert demo.seed() is None


class TestMemories:
    def test_every_type_and_kind_is_there(self, memories):
        assert set(memories.values_list("memory_type", flat=True)) == set(Memory.Type)
        assert set(memories.values_list("kind", flat=True)) == set(Memory.Kind)

    def test_each_is_found_at_once(self, memories):
        assert not memories.filter(vectors=None).exists()
        assert not memories.filter(is_duplicate=True).exists()

    def test_files_and_tags_are_linked(self, memories, demo_project):
        assert File.objects.filter(project=demo_project).count() >= 10
        assert not memories.filter(tags=[]).exists()

    def test_one_pair_waits_for_a_person_to_compare_it(self, demo_project):
        pair = PossibleDuplicate.objects.get(project=demo_project)

        assert pair.state == "open"
        assert pair.why_not_merged


class TestTasks:
    @pytest.fixture
    def runs(self, demo_project):
        return AceRun.objects.filter(project=demo_project).order_by("pk")

    def test_each_is_finished(self, runs):
        assert {run.state for run in runs} == {"done"}

    def test_outcomes_are_known_and_unknown(self, runs):
        outcomes = [run.reflection.outcome for run in runs]

        assert outcomes == ["success", "success", "success", "unknown"]

    def test_a_repaired_call_and_a_person_taught_something(self, demo_project):
        entries = (
            PlaybookEntry.objects.filter(project=demo_project).current().order_by("pk")
        )

        labels = [entry.label for entry in entries]
        assert labels == ["gotchas-00001", "best-practices-00002"]
        assert "`customer_id`" in entries[0].content
        assert entries[1].content.startswith("Never change the order")

    def test_an_entry_that_was_cited_has_its_vote(self, demo_project):
        entry = PlaybookEntry.objects.get(project=demo_project, label="gotchas-00001")

        assert (entry.helpful, entry.harmful) == (1, 0)

    def test_what_an_agent_says_alone_waits_in_review(self, demo_project):
        delta = PlaybookDelta.objects.pending().get(project=demo_project)

        assert delta.operation == "add"
        assert "from outside the repository" in delta.review_note
