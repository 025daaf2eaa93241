from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from common import errors
from common.caller import SYSTEM
from memories.lifecycle import delete, derive, expire, promote, update
from memories.lifecycle import supersede as lifecycle_supersede
from memories.maintenance import embedding_job
from memories.models import Memory, MemoryChange, Tag
from memories.scopes import Scope
from memories.store import originals, vectors, write
from memories.store.drafts import Draft, FileRef
from projects import deletion
from projects.models import Project

TEXT = "Run the migrations before the tests, or the fixtures fail."


@pytest.fixture
def store_memory(project, alice):
    """Store a memory through the product's own function."""

    def store(content=TEXT, **fields):
        fields = {"memory_type": "learning", **fields}
        return write.store(project, Draft(content=content, **fields), alice).memory

    return store


@pytest.fixture
def url():
    return lambda memory, *rest: "/".join(["/api/v1/memories", str(memory.pk), *rest])


class TestRead:
    def test_it_shows_everything_but_the_vector(self, store_memory, alice_api, url):
        answer = alice_api.get(url(store_memory(tags=("ci",)))).json()

        assert answer["content"] == TEXT
        assert answer["tags"] == ["ci"]
        assert answer["scope"]["kind"] == "workspace"
        assert answer["lineage"]["duplicates"] == []
        assert "embedding" not in answer

    def test_it_hides_expired_memories(self, store_memory, alice_api, url):
        memory = store_memory(expires_at=timezone.now() - timedelta(seconds=1))

        assert alice_api.get(url(memory)).status_code == 404


class TestUpdate:
    def test_tags_are_replaced_and_metadata_merged(self, store_memory, alice_api, url):
        memory = store_memory(tags=("a", "b"), metadata={"x": 1, "y": 1})

        answer = alice_api.patch(
            url(memory), {"tags": ["c"], "metadata": {"y": 2}}
        ).json()

        assert answer["tags"] == ["c"]
        assert answer["metadata"] == {"x": 1, "y": 2}
        assert answer["version"] == memory.version + 1

    def test_a_new_text_is_found_by_its_new_words(
        self, store_memory, alice_api, url, project
    ):
        memory = store_memory()
        alice_api.patch(url(memory), {"content": "Use zebra stripes in every table."})

        answer = alice_api.post(
            "/api/v1/search",
            {"project_id": str(project.pk), "query": "zebra", "mode": "keyword"},
        ).json()

        assert [hit["memory"]["id"] for hit in answer["hits"]] == [str(memory.pk)]

    def test_a_text_that_exists_makes_it_a_duplicate(
        self, store_memory, alice_api, url
    ):
        original, memory = (
            store_memory(),
            store_memory("Something else that is long enough."),
        )

        answer = alice_api.patch(url(memory), {"content": TEXT}).json()

        assert answer["duplicate_of"] == str(original.pk)

    def test_a_copy_is_not_hidden_behind_an_original_of_another_sensitivity(
        self, store_memory, alice_api, url, project
    ):
        original, copy = store_memory(), store_memory()
        assert copy.duplicate_of == original

        alice_api.patch(url(original), {"sensitivity": "sensitive"})

        body = {"project_id": str(project.pk), "query": "migrations", "mode": "keyword"}
        hits = alice_api.post("/api/v1/search", body).json()["hits"]
        assert [hit["memory"]["id"] for hit in hits] == [str(copy.pk)]

    def test_a_duplicate_that_gets_another_sensitivity_becomes_an_original(
        self, store_memory, alice_api, url, project
    ):
        store_memory(sensitivity="sensitive")
        copy = store_memory(sensitivity="sensitive")

        alice_api.patch(url(copy), {"sensitivity": "private"})

        copy.refresh_from_db()
        assert not copy.is_duplicate
        assert copy in embedding_job.rows_to_embed(project.pk)

    @pytest.mark.parametrize("change", [{"sensitivity": "sensitive"}, {"value": 2}])
    def test_a_fact_that_changes_supersedes_its_copies(
        self, store_memory, alice_api, url, change
    ):
        fact = {"kind": "fact", "key": "python", "value": 1}
        original, copy = store_memory("3.11", **fact), store_memory("3.11", **fact)

        alice_api.patch(url(original), change)

        copy.refresh_from_db()
        assert not copy.is_duplicate
        assert copy.superseded_by == original

    def test_no_change_marks_a_derived_memory_as_a_duplicate(
        self, store_memory, alice, project, alice_api, url
    ):
        store_memory()
        source = store_memory(
            "Something else that is long enough.", scope=Scope("user", "u1")
        )
        target = Scope("workspace", str(project.pk))
        prepared = promote.prepare(source, target, alice)
        copy = derive.commit(prepared, alice).memory

        answer = alice_api.patch(url(copy), {"content": TEXT}).json()

        assert (answer["content"], answer["is_duplicate"]) == (TEXT, False)

    def test_a_vector_of_a_text_that_another_change_replaced_is_not_kept(
        self, store_memory, alice, project, monkeypatch
    ):
        memory = store_memory(title="Before")
        embed = vectors.embed_short

        def while_it_changes(texts):
            monkeypatch.setattr(vectors, "embed_short", embed)
            update.update_memory(memory, {"content": "Use zebra stripes."}, alice, None)
            return embed(texts)

        monkeypatch.setattr(vectors, "embed_short", while_it_changes)
        update.update_memory(memory, {"title": "After"}, alice, None)

        memory.refresh_from_db()
        assert memory.text == "After\nUse zebra stripes."
        assert memory in embedding_job.rows_to_embed(project.pk)

    @pytest.mark.parametrize("field", ["scope", "provenance", "agent_id", "id", "kind"])
    def test_it_refuses_immutable_fields(self, store_memory, alice_api, url, field):
        answer = alice_api.patch(url(store_memory()), {field: "x"})

        assert answer.status_code == 400
        assert answer.json()["code"] == "immutable_field"
        assert field in answer.json()["errors"]

    def test_a_stale_version_gets_the_current_one(self, store_memory, alice_api, url):
        memory = store_memory()
        alice_api.patch(url(memory), {"tags": ["a"]})

        answer = alice_api.patch(url(memory), {"tags": ["b"], "version": 1})

        assert answer.status_code == 409
        assert answer.json()["code"] == "stale_version"
        assert answer.json()["current_version"] == 2

    def test_a_path_from_here_is_the_same_file(self, store_memory, alice_api, url):
        memory = store_memory(files=(FileRef("src/a.py"),))

        answer = alice_api.patch(
            url(memory), {"file_paths": ["./src/a.py", " src/a.py", "b.py"]}
        ).json()

        assert {link["file_path"] for link in answer["files"]} == {"src/a.py", "b.py"}

    @pytest.mark.parametrize(
        "change",
        [
            {},
            {"version": 1},
            {"content": TEXT, "tags": ["a"], "metadata": {}, "expires_at": None},
            {"file_paths": ["src/a.py"]},
        ],
    )
    def test_an_update_without_a_change_makes_no_version(
        self, store_memory, alice_api, url, change
    ):
        memory = store_memory(tags=("a",), files=(FileRef("src/a.py"),))

        answer = alice_api.patch(url(memory), change).json()

        assert (answer["version"], len(answer["files"])) == (1, 1)
        history = alice_api.get(url(memory, "history")).json()["results"]
        assert [row["action"] for row in history] == ["create"]

    def test_paths_alone_are_a_change(self, store_memory, alice_api, url):
        memory = store_memory(files=(FileRef("src/a.py"),))

        answer = alice_api.patch(url(memory), {"file_paths": []}).json()

        assert (answer["version"], answer["files"]) == (2, [])

    def test_a_stored_secret_does_not_block_other_changes(
        self, store_memory, project, alice_api, url
    ):
        project.settings = {"secrets": "allow"}
        project.save()
        memory = store_memory("Push with the token ghp_" + "a1B2" * 9)
        project.settings = {"secrets": "reject"}
        project.save()

        answer = alice_api.patch(url(memory), {"sensitivity": "sensitive"})

        assert answer.status_code == 200

    def test_null_clears_the_expiry(self, store_memory, alice_api, url):
        memory = store_memory(expires_at=timezone.now() + timedelta(days=1))

        assert alice_api.patch(url(memory), {"expires_at": None}).status_code == 200
        memory.refresh_from_db()
        assert memory.expires_at is None


class TestDeleteAndRestore:
    def test_delete_answers_204_for_every_id(self, store_memory, alice_api, url):
        memory = store_memory()

        assert alice_api.delete(url(memory)).status_code == 204
        assert alice_api.delete(url(memory)).status_code == 204
        assert alice_api.delete(f"/api/v1/memories/{uuid.uuid4()}").status_code == 204
        assert alice_api.get(url(memory)).status_code == 404

    @pytest.mark.parametrize("is_archived", [False, True])
    def test_delete_deletes_an_expired_memory(
        self, store_memory, alice_api, alice, url, is_archived
    ):
        memory = store_memory(expires_at=timezone.now() - timedelta(seconds=1))
        if is_archived:
            expire.archive_expired(alice)

        assert alice_api.delete(url(memory)).status_code == 204
        memory.refresh_from_db()
        assert memory.deleted_at is not None

    def test_a_deleted_one_comes_back(self, store_memory, alice_api, url):
        memory = store_memory()
        alice_api.delete(url(memory))

        assert alice_api.post(url(memory, "restore")).status_code == 200
        assert alice_api.get(url(memory)).status_code == 200

    def test_it_is_restored_as_a_duplicate_of_a_newer_original(
        self, store_memory, alice_api, url
    ):
        memory = store_memory()
        alice_api.delete(url(memory))
        other = store_memory()

        answer = alice_api.post(url(memory, "restore")).json()

        assert answer["duplicate_of"] == str(other.pk)

    def test_a_current_memory_cannot_be_restored(self, store_memory, alice_api, url):
        answer = alice_api.post(url(store_memory(), "restore"))

        assert (answer.status_code, answer.json()["code"]) == (409, "not_deleted")
        assert "\n" not in answer.json()["detail"]

    def test_the_earliest_duplicate_succeeds_the_original(self, store_memory, alice):
        original, first, second = store_memory(), store_memory(), store_memory()

        delete.delete_memory(original.pk, alice)

        first.refresh_from_db()
        second.refresh_from_db()
        assert not first.is_duplicate
        assert second.duplicate_of == first

    def test_expired_rows_are_archived_and_succeeded(self, store_memory):
        original = store_memory(expires_at=timezone.now() + timedelta(hours=1))
        heir = store_memory()
        Memory.objects.filter(pk=original.pk).update(
            expires_at=timezone.now() - timedelta(seconds=1)
        )

        assert expire.archive_expired(SYSTEM) == 1

        heir.refresh_from_db()
        assert not heir.is_duplicate

    def test_all_that_expired_is_archived_in_one_pass(self, store_memory, monkeypatch):
        monkeypatch.setattr(expire, "EXPIRY_BATCH", 2)
        for number in range(5):
            store_memory(f"{TEXT} {number}")
        Memory.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        assert expire.archive_expired(SYSTEM) == 5

    def test_no_memory_becomes_a_duplicate_of_an_expired_one(
        self, store_memory, alice_api, url
    ):
        expired, other = store_memory(), store_memory("Quite another text than that.")
        Memory.objects.filter(pk=expired.pk).update(
            expires_at=timezone.now() - timedelta(seconds=1)
        )

        alice_api.patch(url(other), {"content": TEXT})

        assert Memory.objects.current().get() == other

    @pytest.mark.parametrize("leaving", ["deleted", "expired"])
    def test_a_superseded_memory_can_be_restored_when_its_successor_is_inactive(
        self, store_memory, alice, alice_api, url, leaving
    ):
        old, new = (
            store_memory(text, kind="fact", key="python") for text in ("3.11", "3.12")
        )
        assert alice_api.post(url(old, "restore")).status_code == 409
        if leaving == "deleted":
            delete.delete_memory(new.pk, alice)
        else:
            past = timezone.now() - timedelta(seconds=1)
            Memory.objects.filter(pk=new.pk).update(expires_at=past)

        assert alice_api.post(url(old, "restore")).json()["superseded_by"] is None

        assert Memory.objects.current().get() == old

    def test_a_new_text_replaces_an_expired_original(self, store_memory):
        original = store_memory()
        Memory.objects.filter(pk=original.pk).update(
            expires_at=timezone.now() - timedelta(seconds=1)
        )

        assert not store_memory().is_duplicate


class TestProjectDeletion:
    @pytest.mark.parametrize("batch", [1, 1000])
    def test_rows_that_point_to_each_other_go_with_it(
        self, store_memory, project, run_jobs, monkeypatch, batch
    ):
        monkeypatch.setattr("memories.retention.project_deletion.BATCH", batch)
        fact = {"kind": "fact", "key": "python"}
        for text in ("3.11", "3.12", "3.12", "3.13", "3.11"):
            store_memory(text, **fact)
        store_memory(), store_memory()
        Project.objects.update(delete_after=timezone.now() - timedelta(days=1))

        deletion.enqueue_due()
        run_jobs()

        assert not Memory.objects.exists()
        assert not Project.objects.filter(pk=project.pk).exists()

    def test_an_archived_memory_is_not_searchable(
        self, store_memory, alice, alice_api, url
    ):
        memory = store_memory()
        originals.archive(memory, alice, reason="over the quota")

        searchable = alice_api.get(url(memory)).json()["searchable"]
        assert searchable == {"keyword": False, "semantic": False}


class TestVerifyAndSupersede:
    def test_verify_sets_the_date_and_clears_suspicion(
        self, alice_api, project, store_memory, url
    ):
        memory = store_memory(files=(FileRef("a.py", content_hash="1"),))
        sync = {"project_id": str(project.pk), "files": [{"path": "a.py", "hash": "1"}]}
        alice_api.post("/api/v1/files/sync", sync)
        sync["files"][0]["hash"] = "2"
        told = alice_api.post("/api/v1/files/sync", sync).json()
        assert told["suspect"] == 1

        answer = alice_api.post(url(memory, "verify"), {"note": "still true"}).json()

        assert answer["verified_at"]
        assert answer["files"][0]["suspect_since"] is None

    def test_superseding_hides_from_search_and_keeps_the_row(
        self, store_memory, alice_api, url, project
    ):
        old, new = (
            store_memory(),
            store_memory("Run the migrations after the tests from now on."),
        )

        alice_api.post(url(old, "supersede"), {"by": str(new.pk)})

        body = {"project_id": str(project.pk), "query": "migrations tests"}
        hits = alice_api.post("/api/v1/search", body).json()["hits"]
        assert [hit["memory"]["id"] for hit in hits] == [str(new.pk)]
        assert alice_api.get(url(old)).json()["superseded_by"] == str(new.pk)

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_make_no_circle(self, store_memory, alice):
        pair = (
            store_memory(),
            store_memory("Run the migrations after the tests from now on."),
        )
        together = Barrier(2)

        def supersede(old, new):
            together.wait()
            try:
                lifecycle_supersede.supersede_memory(old, new, alice)
            except errors.StateConflict:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(supersede, pair, reversed(pair)))

        assert sorted(done) == [False, True]
        assert Memory.objects.current().count() == 1

    def test_only_a_current_memory_supersedes(self, store_memory, alice_api, url):
        original, copy, other = (
            store_memory(),
            store_memory(),
            store_memory("Quite another text than that."),
        )

        answer = alice_api.post(url(other, "supersede"), {"by": str(copy.pk)})

        assert answer.status_code == 409
        assert "original" in answer.json()["detail"]
        assert set(Memory.objects.current()) == {original, other}

    def test_superseding_in_a_circle_is_refused(self, store_memory, alice_api, url):
        old, new = (
            store_memory(),
            store_memory("Run the migrations after the tests from now on."),
        )
        alice_api.post(url(old, "supersede"), {"by": str(new.pk)})

        answer = alice_api.post(url(new, "supersede"), {"by": str(old.pk)})

        assert answer.status_code == 409


class TestIdempotency:
    @pytest.mark.parametrize("step", ["verify", "supersede", "unmark-duplicate"])
    def test_a_repeated_request_acts_once(self, store_memory, alice_api, url, step):
        first, again = store_memory(), store_memory()
        body = {"by": str(first.pk)} if step == "supersede" else {}
        headers = {"Idempotency-Key": "build-1"}
        taken = alice_api.post(url(again, step), body, headers=headers)
        alice_api.delete(url(again))

        repeated = alice_api.post(url(again, step), body, headers=headers)

        assert repeated.headers["Idempotent-Replay"] == "true"
        assert repeated.json() == taken.json()
        changes = MemoryChange.objects.filter(memory_id=again.pk)
        assert changes.count() == 3

    def test_a_repeated_restore_is_not_refused(self, store_memory, alice_api, url):
        memory = store_memory()
        alice_api.delete(url(memory))
        headers = {"Idempotency-Key": "build-1"}
        answers = [
            alice_api.post(url(memory, "restore"), headers=headers) for _ in range(2)
        ]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()

    def test_a_repeated_merge_of_tags_gets_the_same_answer(
        self, store_memory, alice_api, client_of, project
    ):
        memory = store_memory(tags=("old", "new"))
        path = f"/api/v1/tags/{Tag.objects.get(name='old').pk}/merge"
        headers = {"Idempotency-Key": "build-1"}
        first, again = (
            alice_api.post(path, {"into": "new"}, headers=headers) for _ in range(2)
        )
        stranger = client_of(project).post(path, {"into": "new"}, headers=headers)

        assert (first.status_code, again.status_code) == (200, 200)
        assert again.headers["Idempotent-Replay"] == "true"
        assert again.json() == first.json()
        assert stranger.status_code == 404
        assert Memory.objects.get(pk=memory.pk).tags == ["new"]

    def test_the_text_of_an_expired_memory_is_shown_when_it_is_restored(
        self, store_memory, alice_api, url
    ):
        memory = store_memory(expires_at=timezone.now() + timedelta(hours=1))
        alice_api.delete(url(memory))
        past = timezone.now() - timedelta(seconds=1)
        Memory.objects.filter(pk=memory.pk).update(expires_at=past)

        answer = alice_api.post(url(memory, "restore"))

        assert answer.status_code == 200
        assert answer.json()["content"] == TEXT


class TestHistory:
    def test_it_lists_each_change_newest_first(self, store_memory, alice_api, url):
        memory = store_memory()
        alice_api.patch(url(memory), {"tags": ["x"]})
        alice_api.delete(url(memory))
        alice_api.post(url(memory, "restore"))

        rows = alice_api.get(url(memory, "history")).json()["results"]

        assert [row["action"] for row in rows] == [
            "restore",
            "delete",
            "update",
            "create",
        ]
        assert rows[2]["before"] == {"tags": []}
        assert rows[2]["after"] == {"tags": ["x"]}


@pytest.mark.django_db
def test_a_source_names_what_it_was_compacted_into(alice_api, project, alice):
    draft = Draft(content="Moor at the north berth", memory_type="learning")
    source = write.store(project, draft, alice)
    body = {
        "project_id": str(project.pk),
        "source_ids": [str(source.memory.pk)],
        "content": "North berth it is, whatever the tide",
    }
    store_memory = alice_api.post("/api/v1/memories/compact", body).json()["id"]

    told = alice_api.get(f"/api/v1/memories/{source.memory.pk}").json()["lineage"]

    assert told["compacted_into"] == [store_memory]
    assert told["promoted_to"] == []
