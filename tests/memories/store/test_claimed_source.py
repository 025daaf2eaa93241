"""`user`, `system` and `reflect` are for the service and for curators to claim."""

from __future__ import annotations

import pytest

from common.caller import Role
from memories import scoped_store
from memories.models import Memory, MemoryChange
from memories.retention import compact

URL = "/api/v1/memories"
RESERVED = ["user", "system", "reflect"]
TEXT = "Deploys happen on Friday, after the standup."


@pytest.fixture
def body(project):
    return {
        "project_id": str(project.pk),
        "content": TEXT,
        "memory_type": "learning",
    }


@pytest.fixture
def curators(project, alice):
    """A memory that a curator has stored with a source of its own."""

    def write(source, content=TEXT, **fields):
        store = scoped_store.ScopedStore(project, alice)
        scope = fields.pop("scope", {"kind": "workspace"})
        return store.write(scope, content, source=source, **fields)

    return write


@pytest.mark.parametrize("source", RESERVED)
class TestStoring:
    def test_a_writers_memory_is_the_agents_and_the_receipt_says_so(
        self, bob_api, body, source
    ):
        answer = bob_api.post(URL, body | {"source": source})

        assert answer.status_code == 201
        assert answer.json()["memory"]["source"] == "agent"
        assert any(f"{source} is for curators" in n for n in answer.json()["notes"])

    def test_each_item_of_a_batch_is_checked(self, bob_api, body, source):
        items = [
            {"content": f"{TEXT} {n}", "memory_type": "learning", "source": source}
            for n in (1, 2)
        ]
        sent = {"project_id": body["project_id"], "memories": items}

        results = bob_api.post(f"{URL}/batch", sent).json()["results"]

        assert [one["memory"]["source"] for one in results] == ["agent", "agent"]
        assert all(one["notes"] for one in results)

    @pytest.mark.parametrize("role", [Role.CURATOR, Role.OWNER])
    def test_a_curator_may_claim_it(self, client_of, project, body, source, role):
        curator = client_of(project, role=role)

        answer = curator.post(URL, body | {"source": source}).json()

        assert answer["memory"]["source"] == source
        assert answer["notes"] == []


@pytest.mark.parametrize("source", ["agent", "tool", "import"])
def test_other_sources_are_free_to_all(bob_api, body, source):
    answer = bob_api.post(URL, body | {"source": source}).json()

    assert answer["memory"]["source"] == source
    assert answer["notes"] == []


def test_a_curator_of_another_project_is_no_curator_here(client_of, project, body):
    charlies = client_of(project, role=Role.WRITER)

    answer = charlies.post(URL, body | {"source": "user"}).json()

    assert answer["memory"]["source"] == "agent"


class TestChanging:
    def test_a_text_that_a_writer_changes_is_the_agents(self, bob_api, curators):
        memory = curators("user")

        answer = bob_api.patch(f"{URL}/{memory.pk}", {"content": f"{TEXT} Never."})

        assert answer.json()["source"] == "agent"
        change = MemoryChange.objects.filter(memory_id=memory.pk).latest("pk")
        assert "user is for curators" in change.reason

    def test_a_change_of_tags_leaves_it(self, bob_api, curators):
        memory = curators("user")

        answer = bob_api.patch(f"{URL}/{memory.pk}", {"tags": ["deploys"]})

        assert answer.json()["source"] == "user"

    def test_a_curators_change_leaves_it(self, alice_api, curators):
        memory = curators("user")

        answer = alice_api.patch(f"{URL}/{memory.pk}", {"content": f"{TEXT} Never."})

        assert answer.json()["source"] == "user"


class TestDeriving:
    def promote(self, api, memory, **fields):
        sent = {"target_scope": {"kind": "org"}, **fields}
        answer = api.post(f"{URL}/{memory.pk}/promote", sent)
        assert answer.status_code == 201, answer.json()
        return answer.json()

    def test_a_promotion_keeps_the_source_of_the_same_text(self, bob_api, curators):
        assert self.promote(bob_api, curators("user"))["memory"]["source"] == "user"

    def test_a_promotion_with_a_writers_text_is_the_agents(self, bob_api, curators):
        answer = self.promote(bob_api, curators("user"), content=f"{TEXT} Never.")

        assert answer["memory"]["source"] == "agent"
        assert any("user is for curators" in note for note in answer["notes"])

    def compact(self, api, project, memories, **fields):
        ids = [str(memory.pk) for memory in memories]
        sent = {"project_id": str(project.pk), "source_ids": ids, **fields}
        answer = api.post(f"{URL}/compact", sent)
        assert answer.status_code == 201, answer.json()
        return answer.json()["memory"]["source"]

    def test_a_compaction_with_a_writers_text_is_the_agents(
        self, bob_api, project, curators
    ):
        memories = [curators("user"), curators("user", "Deploys need two approvals.")]

        source = self.compact(bob_api, project, memories, content="Deploys are free.")

        assert source == "agent"

    def test_a_summary_of_the_service_keeps_the_common_source(
        self, bob_api, project, curators
    ):
        memories = [curators("user"), curators("user", "Deploys need two approvals.")]

        assert self.compact(bob_api, project, memories, summarize=True) == "user"

    def test_a_summary_of_an_agents_words_is_not_the_systems(
        self, bob_api, project, curators
    ):
        memories = [curators("tool"), curators("user", "Deploys need two approvals.")]

        assert self.compact(bob_api, project, memories, summarize=True) == "agent"

    def test_a_summary_of_reserved_sources_is_the_systems(
        self, project, alice, curators
    ):
        memories = [curators("user"), curators("system", "Deploys need approvals.")]
        store = scoped_store.ScopedStore(project, alice)

        result = store.compact(
            [memory.pk for memory in memories],
            {"kind": "workspace"},
            compact.project_summarizer(project),
        )

        assert result.source == Memory.Source.SYSTEM
