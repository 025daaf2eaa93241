from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.utils import IntegrityError, InternalError
from django.utils import timezone

from audit.models import AuditEvent
from common.caller import SYSTEM
from inference.embedding import fake
from jobs.models import Job
from memories.models import Memory, MemoryChange
from memories.serializers.drafts import CreateMemory
from memories.store import write as store_write
from memories.store.drafts import Draft

BODY = {
    "content": "The importer reads the file twice because of the byte order mark.",
    "memory_type": "discovery",
    "agent_id": "agent-1",
}


@pytest.fixture
def write(alice_api, project):
    def post(**fields):
        body = {"project_id": str(project.pk), **BODY, **fields}
        return alice_api.post("/api/v1/memories", body)

    return post


class TestReceipt:
    def test_it_stores_a_memory(self, write):
        answer = write()

        assert answer.status_code == 201
        assert answer.json()["status"] == "stored"
        assert answer.json()["searchable"] == {"keyword": True, "semantic": True}
        assert Memory.objects.get(pk=answer.json()["id"]).content == BODY["content"]

    def test_it_names_the_original_of_an_exact_duplicate(self, write):
        first = write().json()

        answer = write(content="  " + BODY["content"].upper())

        assert answer.status_code == 200
        assert answer.json()["status"] == "duplicate"
        assert answer.json()["duplicate_of"] == first["id"]
        assert answer.json()["searchable"] == {"keyword": False, "semantic": False}

    def test_it_stores_when_the_embedding_model_is_down(self, write, run_jobs):
        with fake.outage():
            answer = write()

        assert answer.status_code == 201
        assert answer.json()["searchable"] == {"keyword": True, "semantic": False}
        run_jobs()
        assert Memory.objects.get(pk=answer.json()["id"]).embedding is not None

    def test_it_masks_a_secret_and_notes_it(self, write):
        secret = "ghp_" + "a1B2" * 9

        answer = write(content=f"Push with the token {secret} from the robot account.")

        assert secret not in answer.json()["memory"]["content"]
        assert answer.json()["notes"][0].startswith("masked: ")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("title", "x" * 475 + " redis://a:b1c@host"),
            ("tags", ["x" * 40 + " redis://a:b1c@host"]),
        ],
    )
    def test_a_mask_that_makes_a_field_too_long_is_refused(self, write, field, value):
        answer = write(**{field: value})

        assert answer.status_code == 400
        assert "masked" in answer.json()["errors"][field][0]

    def test_it_refuses_a_secret_where_the_project_says_so(self, write, project):
        project.settings = {"secrets": "reject"}
        project.save()

        answer = write(content="Push with the token ghp_" + "a1B2" * 9)

        assert answer.status_code == 422
        assert answer.json()["code"] == "secret_found"
        assert Memory.objects.count() == 0

    def test_null_means_absent(self, write):
        fields = CreateMemory().fields
        left_out = {name: None for name in fields if not fields[name].required}
        answer = write(**left_out | {"memory_type": "learning"})

        assert answer.status_code == 201
        memory = Memory.objects.get()
        assert (memory.kind, memory.title, memory.tool_usage) == ("note", "", [])

    def test_null_within_a_file_means_absent(self, write):
        file = {"file_path": "a.py", "relation_type": None, "content_hash": None}
        answer = write(files=[file])

        assert answer.status_code == 201
        assert answer.json()["memory"]["files"][0]["relation_type"] == "referenced"

    def test_a_project_may_be_named_beside_a_null_id(self, write, project):
        assert write(project_id=None, project=project.name).status_code == 201

    @pytest.mark.parametrize(
        "scope",
        [
            {"kind": "workspace", "workspace_id": None},
            {"kind": "session", "session_id": "s1", "user_id": None},
        ],
    )
    @pytest.mark.parametrize(
        ("path", "fields"), [("memories", BODY), ("memories/delete-by-scope", {})]
    )
    def test_a_null_key_does_not_widen_a_scope(
        self, alice_api, project, scope, path, fields
    ):
        body = {"project_id": str(project.pk), **fields, "scope": scope}

        answer = alice_api.post(f"/api/v1/{path}", body)

        assert answer.status_code == 400
        [field] = answer.json()["errors"]
        assert field.startswith("scope.")

    @pytest.mark.parametrize(
        "scope",
        [
            {"kind": "session", "session_id": "s1", "user_id": "u1"},
            {"kind": "session", "session_id": "s1"},
            {"kind": "user", "user_id": "u1"},
            {"kind": "object", "object_type": "ticket", "object_id": "7"},
        ],
    )
    def test_a_scope_in_an_answer_can_be_sent_back(
        self, write, alice_api, project, scope
    ):
        shown = write(scope=scope).json()["memory"]["scope"]

        body = {"project_id": str(project.pk), "scope": shown}
        answer = alice_api.post("/api/v1/memories/delete-by-scope", body)

        assert answer.json() == {"deleted": 1}


class TestRefusals:
    def test_it_names_the_six_types(self, write):
        answer = write(memory_type="gossip")

        assert answer.status_code == 400
        said = str(answer.json()["errors"]["memory_type"])
        assert all(name in said for name in Memory.Type.values)

    @pytest.mark.parametrize("kind", Memory.Kind.values)
    def test_without_a_type_it_is_read_off_the_content(self, write, kind):
        key = {"key": "importer"} if kind == "fact" else {}

        told = write(memory_type=None, kind=kind, content="Never import twice.", **key)

        assert told.status_code == 201
        assert told.json()["memory"]["memory_type"] == "warning"

    def test_it_needs_ten_characters_by_default(self, write):
        assert write(content="too short").status_code == 400

    def test_a_project_may_allow_one_character(self, write, project):
        project.settings = {"content_min": 1}
        project.save()

        assert write(content="x").status_code == 201

    def test_a_fact_may_be_one_word(self, write):
        assert write(kind="fact", key="tabs", content="no").status_code == 201

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("content", "x" * 50_001),
            ("tags", ["x"] * 101),
            ("tags", ["x" * 65]),
            ("goal", "x" * 20_001),
            ("confidence", 1.5),
            ("expires_at", "tomorrow"),
            ("scope", {"kind": "galaxy"}),
            ("scope", {"kind": "user"}),
            ("scope", {"kind": "object", "object_id": "7"}),
            ("kind", "rumour"),
            ("sensitivity", "secret"),
            ("files", [{"file_path": "a.py", "line_end": 3}]),
        ],
    )
    def test_it_refuses_what_does_not_fit(self, write, field, value):
        answer = write(**{field: value})

        assert answer.status_code == 400
        assert answer.json()["code"] == "invalid"
        assert field in str(answer.json()["errors"])
        assert Memory.objects.count() == 0


class TestTraces:
    def test_a_write_leaves_history_and_audit(self, write):
        made = write(tags=["io"]).json()["id"]

        change = MemoryChange.objects.get(memory_id=made)
        assert (change.action, change.after["tags"]) == ("create", ["io"])
        event = AuditEvent.objects.get(object_id=made)
        assert (event.verb, event.before_hash) == ("memory.create", "")

    def test_history_cannot_be_changed(self, write):
        write()

        with pytest.raises((InternalError, IntegrityError)), transaction.atomic():
            MemoryChange.objects.update(reason="rewritten")

    def test_files_and_tags_are_made_and_counted(self, write, alice_api, project):
        write(file_paths=["src/io.py", "./src/io.py"], tags=["io", "bom", "io"])

        query = {"project_id": str(project.pk)}
        files = alice_api.get("/api/v1/files", query).json()["results"]
        tags = alice_api.get("/api/v1/tags", query).json()["results"]
        assert [(f["file_path"], f["memory_count"]) for f in files] == [
            ("src/io.py", 1)
        ]
        assert {(t["name"], t["usage_count"]) for t in tags} == {("io", 1), ("bom", 1)}

    @pytest.mark.parametrize("path", ["./src/io.py", "./src/"])
    def test_a_path_that_starts_here_is_the_same_in_a_filter(
        self, write, alice_api, project, path
    ):
        write(file_paths=["./src/io.py"])

        named = {"project_id": str(project.pk)}
        asked = named | {"file_paths": [path]}
        listed = alice_api.get("/api/v1/memories", asked).json()["results"]
        found = alice_api.post("/api/v1/search", asked | {"query": "byte order"})
        files = alice_api.get("/api/v1/files", named | {"path": path}).json()["results"]
        assert [len(listed), len(found.json()["hits"]), len(files)] == [1, 1, 1]

    def test_a_path_that_starts_here_is_the_same_file_everywhere(
        self, write, alice_api, project
    ):
        write(files=[{"file_path": "./src/io.py", "content_hash": "1"}])
        named = {"project_id": str(project.pk)}

        sync = {"files": [{"path": "./src/io.py", "hash": None}]}
        told = alice_api.post("/api/v1/files/sync", named | sync).json()
        moved = {"old_path": "./src/io.py", "new_path": "./src/ports.py"}
        file = alice_api.post("/api/v1/files/rename", named | moved).json()
        graph = alice_api.get("/api/v1/files/graph", named | {"path": "./src/ports.py"})

        assert told["suspect"] == 1
        assert file["file_path"] == "src/ports.py"
        assert graph.json()["stats"]["memory_count"] == 1

    def test_an_empty_path_is_refused(self, write):
        answer = write(file_paths=["./"])

        assert list(answer.json()["errors"]) == ["file_paths.0"]

    def test_a_past_expiry_is_accepted_and_hidden_at_once(self, write, alice_api):
        past = (timezone.now() - timedelta(minutes=1)).isoformat()

        made = write(expires_at=past)

        assert made.status_code == 201
        assert made.json()["searchable"] == {"keyword": False, "semantic": False}
        assert alice_api.get(f"/api/v1/memories/{made.json()['id']}").status_code == 404


class TestFacts:
    def test_a_new_fact_supersedes_the_old_one_of_its_key(self, write, alice_api):
        old = write(kind="fact", key="python", content="3.11").json()["id"]

        answer = write(kind="fact", key="python", content="3.12")

        assert answer.json()["status"] == "superseded_key"
        before = alice_api.get(f"/api/v1/memories/{old}").json()
        assert before["superseded_by"] == answer.json()["id"]

    def test_the_same_fact_again_is_a_duplicate(self, write):
        write(kind="fact", key="python", content="3.11")

        answer = write(kind="fact", key="python", content="3.11")

        assert answer.json()["status"] == "duplicate"

    def test_another_value_with_the_same_words_supersedes(self, write):
        write(kind="fact", key="limit", content="the limit", value=1)

        answer = write(kind="fact", key="limit", content="the limit", value=2)

        assert answer.json()["status"] == "superseded_key"

    def test_the_same_fact_with_another_sensitivity_supersedes(self, write):
        write(kind="fact", key="python", content="3.11", sensitivity="sensitive")

        answer = write(kind="fact", key="python", content="3.11")

        assert answer.json()["status"] == "superseded_key"

    def test_no_fact_repeats_an_expired_one(self, write):
        expired = timezone.now() - timedelta(seconds=1)
        write(kind="fact", key="python", content="3.11", expires_at=expired)

        answer = write(kind="fact", key="python", content="3.11")

        assert answer.json()["status"] == "superseded_key"

    def test_a_note_that_repeated_a_superseded_fact_becomes_an_original(self, write):
        fact = {"kind": "fact", "key": "python"}
        text = "The service runs with Python 3.11."
        write(**fact, content=text)
        copies = [write(**fact, content=text).json()["id"] for _ in range(2)]
        note = write(key="python", content=text).json()["id"]

        newer = write(**fact, content="It runs with 3.12.").json()["id"]

        assert not Memory.objects.get(pk=note).is_duplicate
        first, second = Memory.objects.filter(pk__in=copies).order_by("pk")
        assert str(first.superseded_by_id) == newer
        assert second.duplicate_of == first

    def test_a_restored_fact_replaces_an_expired_one(self, write, alice_api):
        fact = {"kind": "fact", "key": "python"}
        old = write(**fact, content="3.11").json()["id"]
        alice_api.delete(f"/api/v1/memories/{old}")
        expired = timezone.now() - timedelta(seconds=1)
        write(**fact, content="3.12", expires_at=expired)

        alice_api.post(f"/api/v1/memories/{old}/restore")

        assert Memory.objects.current().filter(pk=old).exists()


class TestBatch:
    def test_each_item_has_its_own_receipt(self, alice_api, project):
        items = [BODY, {"content": "too short"}, BODY, BODY | {"memory_type": "x"}]

        answer = alice_api.post(
            "/api/v1/memories/batch",
            {"project_id": str(project.pk), "memories": items},
        )

        results = answer.json()["results"]
        assert [r["status"] for r in results] == [
            "stored",
            "rejected",
            "duplicate",
            "rejected",
        ]
        assert [r["status_code"] for r in results] == [201, 400, 200, 400]
        assert "content" in results[1]["problem"]["errors"]

    def test_a_large_batch_is_answered_before_it_is_embedded(
        self, alice_api, project, run_jobs
    ):
        items = [BODY | {"content": f"Fact number {i} of a list."} for i in range(30)]

        answer = alice_api.post(
            "/api/v1/memories/batch",
            {"project_id": str(project.pk), "memories": items},
        )

        receipts = answer.json()["results"]
        assert not any(r["searchable"]["semantic"] for r in receipts)
        run_jobs()
        assert all(m.embedding for m in Memory.objects.filter(is_duplicate=False))

    def test_an_item_of_another_project_is_rejected(
        self, alice_api, project, other_project
    ):
        items = [BODY | {"project_id": str(other_project.pk)}]

        answer = alice_api.post(
            "/api/v1/memories/batch",
            {"project_id": str(project.pk), "memories": items},
        )

        assert answer.json()["results"][0]["status"] == "rejected"
        assert Memory.objects.count() == 0

    def test_it_takes_at_most_500(self, alice_api, project):
        answer = alice_api.post(
            "/api/v1/memories/batch",
            {"project_id": str(project.pk), "memories": [BODY] * 501},
        )

        assert answer.status_code == 400


class TestPrepared:
    """What is slow is done before the transaction, which may be repeated."""

    def prepare(self, project, content):
        draft = Draft(content=content, memory_type="learning")
        return store_write.prepare(project, [draft], SYSTEM)

    def test_ids_have_the_time_of_the_write(self, project):
        slow = self.prepare(project, "The first text waits for its vector")
        quick = self.prepare(project, "The second text has its vector soon")
        second, first = (store_write.commit(each)[0] for each in (quick, slow))

        assert first.memory.pk > second.memory.pk

    def test_a_repeated_transaction_starts_afresh(self, project):
        prepared = self.prepare(project, BODY["content"])
        with transaction.atomic():
            store_write.commit(self.prepare(project, BODY["content"]))
            assert store_write.commit(prepared)[0].status == "duplicate"
            transaction.set_rollback(True)

        assert store_write.commit(prepared)[0].status == "stored"
        assert Memory.objects.current().count() == 1


class TestIdempotency:
    def test_the_same_key_writes_once(self, alice_api, project):
        body = {"project_id": str(project.pk), **BODY}
        key = {"HTTP_IDEMPOTENCY_KEY": str(uuid.uuid4())}

        first = alice_api.post("/api/v1/memories", body, **key)
        again = alice_api.post("/api/v1/memories", body, **key)

        assert again.status_code == first.status_code == 201
        assert again.json() == first.json()
        assert Memory.objects.count() == 1

    def test_another_body_under_the_same_key_is_refused(self, alice_api, project):
        body = {"project_id": str(project.pk), **BODY}
        key = {"HTTP_IDEMPOTENCY_KEY": "k1"}
        alice_api.post("/api/v1/memories", body, **key)

        other = alice_api.post("/api/v1/memories", body | {"tags": ["x"]}, **key)

        assert other.status_code == 409


class TestWork:
    def test_a_complete_write_leaves_no_job(self, write):
        write()

        assert not Job.objects.unfinished().exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [("db_password", "Tr0ub4dor&3x"), ("stripe_api_key", "kR7mQ2xW9pL4vT8z")],
)
def test_the_value_of_a_fact_whose_key_names_a_secret_is_masked(
    alice_api, project, key, value
):
    body = {"project_id": str(project.pk), "kind": "fact", "key": key, "value": value}
    told = alice_api.post(
        "/api/v1/memories", body | {"content": "It is kept here."}
    ).json()

    assert value not in str(told)
    assert any(note.startswith("masked:") for note in told["notes"])
