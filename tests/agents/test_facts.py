from __future__ import annotations

import pytest

from agents.tiers.facts import FACT, FactDraft, store_fact
from agents.tiers.tier_search import TierQuery, search_tier
from audit.models import AuditEvent
from common import errors
from common.caller import Caller, Role
from conversations.invocations.switch import MemoryOff, set_memory
from inference.embedding import active_model, fake
from memories.models import Memory, MemoryChange

pytestmark = pytest.mark.django_db
FACTS = "/api/v1/facts"
STAGING = "The staging database is called blue-2."


@pytest.fixture
def seed(alice_api):
    return SeedApi(alice_api)


class SeedApi:
    """A client that names the project as seed 004 does."""

    def __init__(self, client, collection="alpha"):
        self.client, self.collection = client, collection

    def post(self, path, **body):
        body = {"collection": self.collection, **body}
        return self.client.post(f"/api/v1/{path}", body, format="json")

    def store(self, content=STAGING, **fields):
        answer = self.post("facts", content=content, **fields)
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    def retrieve(self, query="Where is the staging database?", **fields):
        answer = self.post("facts/retrieve", query=query, **fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    def contents(self, **fields):
        return [fact["content"] for fact in self.retrieve(**fields)["facts"]]


def bound(client_of, project, user, role=Role.WRITER):
    return SeedApi(client_of(project, role=role, user_id=user))


class TestStore:
    def test_it_answers_with_an_id_and_no_error(self, seed):
        answer = seed.store(source="chat-7", metadata={"ticket": 17})

        memory = Memory.objects.get(pk=answer["fact_id"])
        assert answer == {
            "fact_id": str(memory.pk),
            "status": "stored",
            "notes": [],
            "error": None,
        }
        assert (memory.kind, memory.scope_kind) == ("fact", "workspace")
        assert memory.created_in_session_id == "chat-7"
        assert memory.metadata == {"ticket": 17}

    def test_a_fact_of_a_user_is_in_the_scope_of_the_user(self, seed):
        memory = Memory.objects.get(pk=seed.store(user=42)["fact_id"])

        assert memory.scope == {"kind": "user", "user_id": "42"}
        assert memory.user_id == "42"

    def test_a_bound_key_writes_for_its_own_user(self, client_of, project):
        answer = bound(client_of, project, "u1").store()

        assert Memory.objects.get(pk=answer["fact_id"]).scope["user_id"] == "u1"

    def test_a_bound_key_writes_for_nobody_else(self, client_of, project):
        answer = bound(client_of, project, "u1").post("facts", content="x", user="u2")

        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "not_found"
        assert not Memory.objects.exists()

    def test_a_repeated_fact_has_the_id_of_the_first(self, seed):
        first, second = seed.store(), seed.store()

        assert (second["status"], second["fact_id"]) == ("duplicate", first["fact_id"])

    def test_a_fact_supersedes_the_earlier_one_of_its_key(self, seed):
        seed.store("Staging is blue-1.", key="staging", value="blue-1")
        seed.store("Staging is blue-2.", key="staging", value="blue-2")

        assert seed.contents(query="staging") == ["Staging is blue-2."]

    def test_an_idempotency_key_stores_once(self, alice_api, project):
        body = {"collection": "alpha", "content": STAGING}
        answers = [
            alice_api.post(FACTS, body, headers={"Idempotency-Key": "k"}).json()
            for _ in range(2)
        ]

        assert answers[0] == answers[1]
        assert Memory.objects.count() == 1

    def test_an_expired_fact_is_not_found(self, seed):
        seed.store(expires_at="2020-01-01T00:00:00Z")

        assert seed.contents() == []

    def test_a_secret_is_masked_and_noted(self, seed):
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
        answer = seed.store(f"The token of the staging host is {token}.")

        assert token not in Memory.objects.get(pk=answer["fact_id"]).content
        assert answer["notes"]

    def test_a_quota_of_a_user_holds(self, seed, project):
        project.settings = {"quotas": {"per_user": 1}}
        project.save()
        seed.store(user="u1")

        answer = seed.post("facts", content="Production is green-1.", user="u1")

        assert (answer.status_code, answer.json()["code"]) == (409, "quota_exceeded")
        assert answer.json()["error"]["type"] == "quota_exceeded"


class TestRefusals:
    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({}, "content"),
            ({"content": " "}, "content"),
            ({"content": "x", "metadata": []}, "metadata"),
            ({"content": "x", "scope": {"kind": "org"}}, "scope"),
            ({"content": "x", "source": "x" * 201}, "source"),
        ],
    )
    def test_a_wrong_body_names_its_field(self, seed, fields, named):
        answer = seed.post("facts", **fields)

        assert answer.status_code == 400
        assert named in answer.json()["errors"]
        assert answer.json()["error"].keys() == {"type", "message"}

    def test_a_viewer_reads_and_does_not_write(self, client_of, project):
        viewer = SeedApi(client_of(project, role=Role.VIEWER))

        assert viewer.post("facts", content="x").status_code == 403
        assert viewer.retrieve()["facts"] == []

    def test_collection_and_project_must_agree(self, seed, client_of, other_project):
        everywhere = SeedApi(client_of())

        answer = everywhere.post("facts", content="x", project_id="charlies")

        assert answer.status_code == 400
        assert "collection" in answer.json()["errors"]

    def test_a_malformed_id_is_404_with_the_error_too(self, alice_api):
        answer = alice_api.get(f"{FACTS}/nonsense")

        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "not_found"

    def test_a_wrong_method_and_no_key_have_the_error_too(
        self, alice_api, api_without_key
    ):
        wrong = alice_api.put(FACTS, {})
        nobody = api_without_key.post(FACTS, {})

        assert wrong.json()["error"]["type"] == "method_not_allowed"
        assert nobody.json()["error"]["type"] == "unauthenticated"


@pytest.fixture
def api_without_key():
    from rest_framework.test import APIClient

    return APIClient(REMOTE_ADDR="203.0.113.9")


class TestRetrieve:
    def test_it_finds_a_fact_with_the_fields_of_the_seed(self, seed):
        stored = seed.store(source="chat-7", metadata={"a": 1})

        answer = seed.retrieve()

        (fact,) = answer["facts"]
        assert answer["error"] is None
        assert fact["id"] == stored["fact_id"]
        assert (fact["content"], fact["source"]) == (STAGING, "chat-7")
        assert fact["metadata"] == {"a": 1}
        assert 0 < fact["score"] <= 1
        assert fact["timestamp"]
        assert "embedding" not in fact

    def test_it_finds_facts_only(self, seed, project):
        seed.store()
        seed.post("memories", project_id="alpha", content=STAGING)
        note = {"content": f"A note: {STAGING}", "memory_type": "learning"}
        answer = seed.client.post("/api/v1/memories", {"project": "alpha"} | note)
        assert answer.status_code == 201

        assert seed.contents() == [STAGING]

    def test_top_k_limits_the_facts(self, seed):
        for n in range(7):
            seed.store(f"Staging database {n} is in rack {n * 3}.")

        assert len(seed.contents()) == 5
        assert len(seed.contents(top_k=2)) == 2

    @pytest.mark.parametrize("top_k", [0, 51, "many"])
    def test_top_k_has_bounds(self, seed, top_k):
        answer = seed.post("facts/retrieve", query="x", top_k=top_k)

        assert answer.status_code == 400
        assert "top_k" in answer.json()["errors"]

    def test_a_user_reads_the_own_facts_and_those_of_the_project(self, seed):
        seed.store("Staging is blue.")
        seed.store("Staging is red, says Ann.", user="ann")
        seed.store("Staging is grey, says Ben.", user="ben")

        assert set(seed.contents(user="ann", query="staging")) == {
            "Staging is blue.",
            "Staging is red, says Ann.",
        }
        assert seed.contents(query="staging") == ["Staging is blue."]

    def test_neither_query_nor_embedding_is_refused(self, seed):
        answer = seed.post("facts/retrieve", query=" ")

        assert answer.status_code == 400
        assert "query" in answer.json()["errors"]


class TestEmbedding:
    def test_it_finds_by_a_given_vector(self, seed):
        seed.store()
        seed.store("Lunch is at noon.")
        vector = list(active_model.embed([STAGING])[0])

        answer = seed.post("facts/retrieve", embedding=vector, top_k=1)

        assert [fact["content"] for fact in answer.json()["facts"]] == [STAGING]

    def test_another_width_is_refused_with_the_mend(self, seed):
        answer = seed.post("facts/retrieve", embedding=[0.1, 0.2])

        assert answer.status_code == 400
        (message,) = answer.json()["errors"]["embedding"]
        assert "2 numbers" in message
        assert str(active_model.get().dimensions) in message

    def test_a_vector_without_direction_is_refused(self, seed):
        zeros = [0.0] * active_model.get().dimensions

        answer = seed.post("facts/retrieve", embedding=zeros)

        assert answer.status_code == 400
        assert "embedding" in answer.json()["errors"]

    def test_a_curator_reads_the_vectors(self, seed):
        seed.store()

        (fact,) = seed.retrieve(include_embedding=True)["facts"]

        assert len(fact["embedding"]) == active_model.get().dimensions

    def test_a_writer_does_not(self, bob_api):
        answer = SeedApi(bob_api).post(
            "facts/retrieve", query="x", include_embedding=True
        )

        assert answer.status_code == 403

    def test_without_the_model_words_still_find(self, seed):
        seed.store()

        with fake.outage():
            answer = seed.retrieve("the staging database?")

        assert [fact["content"] for fact in answer["facts"]] == [STAGING]
        assert "keyword lane only" in answer["notes"][0]


class TestOneFact:
    def test_it_is_read_by_its_id(self, seed, alice_api):
        stored = seed.store()

        answer = alice_api.get(f"{FACTS}/{stored['fact_id']}").json()

        assert answer["fact"]["content"] == STAGING
        assert answer["error"] is None

    def test_a_deleted_fact_is_gone_and_its_history_stays(self, seed, alice_api):
        fact_id = seed.store()["fact_id"]

        answer = alice_api.delete(f"{FACTS}/{fact_id}")

        assert answer.json() == {"fact_id": fact_id, "status": "deleted", "error": None}
        assert alice_api.get(f"{FACTS}/{fact_id}").status_code == 404
        assert seed.contents() == []
        assert MemoryChange.objects.filter(memory_id=fact_id, action="delete").exists()
        assert AuditEvent.objects.filter(verb="memory.delete", object_id=fact_id)

    def test_a_fact_that_was_stored_twice_is_gone_too(self, seed, alice_api):
        fact_id = seed.store()["fact_id"]
        assert seed.store()["fact_id"] == fact_id

        alice_api.delete(f"{FACTS}/{fact_id}")

        assert seed.contents() == []
        assert not Memory.objects.filter(deleted_at=None).exists()

    def test_deleting_twice_is_404(self, seed, alice_api):
        fact_id = seed.store()["fact_id"]
        alice_api.delete(f"{FACTS}/{fact_id}")

        assert alice_api.delete(f"{FACTS}/{fact_id}").status_code == 404

    def test_a_note_is_no_fact(self, alice_api, project):
        body = {
            "project": "alpha",
            "content": "A note of mine",
            "memory_type": "learning",
        }
        note = alice_api.post("/api/v1/memories", body).json()["id"]

        assert alice_api.get(f"{FACTS}/{note}").status_code == 404
        assert alice_api.delete(f"{FACTS}/{note}").status_code == 404
        assert Memory.objects.get(pk=note).deleted_at is None


class TestIsolation:
    def test_charlie_sees_no_project(self, seed, charlie_api):
        fact_id = seed.store()["fact_id"]

        assert SeedApi(charlie_api).post("facts", content="x").status_code == 404
        found = SeedApi(charlie_api).post("facts/retrieve", query="staging")
        assert found.status_code == 404
        assert charlie_api.get(f"{FACTS}/{fact_id}").status_code == 404
        assert charlie_api.delete(f"{FACTS}/{fact_id}").status_code == 404
        assert SeedApi(charlie_api, "charlies").contents() == []

    def test_a_bound_key_reads_nobody_elses(self, seed, client_of, project):
        fact_id = seed.store(user="ann")["fact_id"]
        seed.store("Staging is shared.")
        ben = bound(client_of, project, "ben", Role.OWNER)

        assert ben.contents() == ["Staging is shared."]
        assert ben.post("facts/retrieve", query="x", user="ann").status_code == 404
        assert ben.client.get(f"{FACTS}/{fact_id}").status_code == 404
        assert ben.client.delete(f"{FACTS}/{fact_id}").status_code == 404
        assert Memory.objects.get(pk=fact_id).deleted_at is None

    def test_a_bound_key_reads_its_own_without_a_name(self, seed, client_of, project):
        seed.store(user="ann")

        assert bound(client_of, project, "ann").contents() == [STAGING]


class TestMemoryOff:
    def test_nothing_is_read_and_a_note_says_so(self, seed, project, alice):
        seed.store()
        seed.store("Staging is red.", user="ann")
        set_memory(project, "ann", False, alice)

        answer = seed.retrieve(user="ann")

        assert answer["facts"] == []
        assert "memory is off" in answer["notes"][0]
        assert seed.contents(user="ben") == [STAGING]

    def test_nothing_is_stored(self, seed, project, alice):
        set_memory(project, "ann", False, alice)

        answer = seed.post("facts", content=STAGING, user="ann")

        assert (answer.status_code, answer.json()["code"]) == (409, "memory_off")
        assert answer.json()["error"]["type"] == "memory_off"
        assert not Memory.objects.exists()

    def test_it_holds_for_a_bound_key_that_names_nobody(
        self, client_of, project, alice
    ):
        set_memory(project, "ann", False, alice)
        ann = bound(client_of, project, "ann")

        assert ann.post("facts", content=STAGING).status_code == 409

    def test_a_conversation_may_be_off(self, seed, session_api):
        seed.post("conversations/chat-7/invocations", query="Hello?", user="ann")
        session_api.patch("conversations/chat-7", user="ann", enabled=False)

        answer = seed.post("facts", content=STAGING, user="ann", source="chat-7")

        assert answer.json()["code"] == "memory_off"
        assert seed.store(user="ann", source="chat-8")["status"] == "stored"

    def test_on_again_reads_what_was_stored(self, seed, project, alice):
        seed.store(user="ann")
        set_memory(project, "ann", False, alice)
        set_memory(project, "ann", True, alice)

        assert seed.contents(user="ann") == [STAGING]


class TestTheFunctions:
    def test_a_fact_of_an_anonymous_conversation_is_in_its_scope(
        self, project, alice, anonymous
    ):
        from memories.scopes import Scope

        scope = Scope("session", anonymous.key)
        stored = store_fact(project, FactDraft(STAGING), alice, scope)

        within = search_tier(
            project, alice, TierQuery("staging", session=anonymous), kind=FACT
        ).hits
        assert [hit.memory.pk for hit in within] == [stored.pk]
        assert search_tier(project, alice, TierQuery("staging"), kind=FACT).hits == []

    def test_it_keeps_quote_origin_and_confidence(self, project, alice):
        draft = FactDraft(
            STAGING, "chat-7", origin="tool", confidence=0.4, quote="called blue-2"
        )

        memory = store_fact(project, draft, alice)

        assert (memory.source, memory.confidence) == ("tool", 0.4)
        assert memory.provenance == {
            "conversation_id": "chat-7",
            "quote": "called blue-2",
        }

    def test_it_raises_where_memory_is_off(self, project, alice):
        set_memory(project, "", False, alice)

        with pytest.raises(MemoryOff):
            store_fact(project, FactDraft(STAGING), alice)

    def test_charlie_stores_nothing(self, project, charlie):
        with pytest.raises(errors.NotFound):
            store_fact(project, FactDraft(STAGING), charlie)

    def test_a_bound_caller_writes_no_scope_of_another(self, project):
        from memories.scopes import Scope

        ann = Caller("ann", roles={project.pk: Role.WRITER}, user_id="ann")

        with pytest.raises(errors.NotFound):
            store_fact(project, FactDraft(STAGING), ann, Scope("user", "ben"))


@pytest.fixture
def anonymous(project, alice):
    from conversations.invocations.record import begin_conversation

    return begin_conversation(project, "chat-0", "", alice)


def test_a_digest_reads_nothing_of_a_user_whose_memory_is_off(seed, project, alice):
    seed.store("Staging is shared.")
    seed.store("Ann likes red.", user="ann")
    body = {"project": "alpha", "scope": {"kind": "user", "user_id": "ann"}}
    body |= {"query": "staging red", "parts": ["digest"]}
    url = "/api/v1/context"
    before = seed.client.post(url, body).json()["text"]
    set_memory(project, "ann", False, alice)

    answer = seed.client.post(url, body).json()

    assert "Ann likes red." in before
    assert "Ann likes red." not in answer["text"]
    assert "Staging is shared." in answer["text"]
    assert "memory is off" in answer["notes"][0]
