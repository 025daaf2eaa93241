"""What promotions and compactions leave behind, and how they are taken back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.lifecycle import delete, expire, restore
from memories.models import Memory
from memories.retention import erase
from memories.scopes import Scope

API = "/api/v1/memories"
USER = Scope("user", "u1")
WORKSPACE = {"kind": "workspace"}


@pytest.fixture
def promoted(alice_api):
    def promote(memory, key="p-1", **fields):
        body = {"target_scope": WORKSPACE, **fields}
        headers = {"Idempotency-Key": key}
        return alice_api.post(f"{API}/{memory.pk}/promote", body, headers=headers)

    return promote


@pytest.fixture
def compacted(alice_api, project):
    """The id of the memory that others were merged into."""

    def compact(*memories, **fields):
        body = {"project_id": str(project.pk), "content": "all of it in one", **fields}
        ids = [str(memory.pk) for memory in memories]
        answer = alice_api.post(f"{API}/compact", body | {"source_ids": ids})
        assert answer.status_code == 201, answer.json()
        return answer.json()["id"]

    return compact


@pytest.fixture
def undone(alice_api):
    def undo(memory_id, key="u-1"):
        headers = {"Idempotency-Key": key}
        return alice_api.post(f"{API}/{memory_id}/undo-compaction", headers=headers)

    return undo


class TestSecrets:
    """A request that names a row and no project goes by the settings of the row's project."""

    SECRET = "The key of the crane is ghp_0123456789abcdefghijABCDEFGHIJ012345."

    @pytest.mark.parametrize(
        ("mode", "status", "is_kept"),
        [("mask", 201, False), ("reject", 422, False), ("allow", 201, True)],
    )
    def test_a_promotion_masks_as_its_project_says(
        self, stored, promoted, project, mode, status, is_kept
    ):
        (memory,) = stored("Kept by one user alone.", scope=USER)
        project.settings = {"secrets": mode}
        project.save()

        answer = promoted(memory, content=self.SECRET)

        assert answer.status_code == status
        kept = Memory.objects.filter(content=self.SECRET)
        assert kept.exists() == is_kept

    @pytest.mark.parametrize("path", ["verify", "unmark-duplicate"])
    def test_a_note_is_refused_where_the_project_refuses_secrets(
        self, stored, alice_api, project, path
    ):
        (memory,) = stored("Kept by one user alone.")
        project.settings = {"secrets": "reject"}
        project.save()

        answer = alice_api.post(f"{API}/{memory.pk}/{path}", {"note": self.SECRET})

        assert answer.status_code == 422


class TestAgain:
    def test_a_promotion_that_deleted_its_original_is_told_again(
        self, stored, promoted
    ):
        (memory,) = stored("Kept by one user alone.", scope=USER)

        first, again = (promoted(memory, delete_original=True) for _ in range(2))

        assert (first.status_code, again.status_code) == (201, 201)
        assert again.json() == first.json()
        assert again.headers["Idempotent-Replay"] == "true"

    def test_so_is_an_undone_compaction(self, stored, compacted, undone):
        made = compacted(*stored("One of the two.", "The other one of them."))

        first, again = (undone(made) for _ in range(2))

        assert (first.status_code, again.status_code) == (200, 200)
        assert again.json() == first.json()

    def test_nobody_else_is_told(self, stored, promoted, charlie_api):
        (memory,) = stored("Kept by one user alone.", scope=USER)
        promoted(memory, delete_original=True)

        answer = charlie_api.post(
            f"{API}/{memory.pk}/promote",
            {"target_scope": WORKSPACE},
            headers={"Idempotency-Key": "p-1"},
        )

        assert answer.status_code == 404


class TestFacts:
    """A key has one current fact, whatever becomes of the one that took it."""

    @pytest.fixture
    def fact(self, stored):
        return lambda text: stored(text, kind="fact", key="python")[0]

    def current(self):
        return [fact.content for fact in Memory.objects.current().filter(key="python")]

    def test_a_kept_source_has_its_place_again(self, fact, compacted, undone):
        made = compacted(fact("3.11"), delete_sources=False)
        assert self.current() == ["all of it in one"]

        assert undone(made).status_code == 200
        assert self.current() == ["3.11"]

    def test_unless_a_newer_fact_has_taken_it(self, fact, compacted, undone):
        source = fact("3.11")
        made = compacted(source, delete_sources=False)
        newer = fact("3.13")

        assert undone(made).status_code == 200
        assert self.current() == ["3.13"]
        source.refresh_from_db()
        assert source.superseded_by == newer

    def test_a_fact_that_was_no_source_is_current_again(self, fact, compacted, undone):
        old = fact("3.11")
        fact("3.12")
        made = compacted(old, delete_sources=False)

        assert undone(made).status_code == 200
        assert self.current() == ["3.12"]


class TestCopiesOfARetiredOriginal:
    """They stay behind what was made of it, and have its place when that has left."""

    @pytest.fixture
    def both(self, stored):
        """An original and its copy in a scope."""
        return lambda **scope: stored(*["Kept by one user alone."] * 2, **scope)

    def current(self):
        return [str(memory.pk) for memory in Memory.objects.current()]

    def test_they_succeed_when_the_promotion_is_deleted(
        self, both, promoted, alice_api
    ):
        original, copy = both(scope=USER)
        made = promoted(original, delete_original=True).json()["id"]
        assert self.current() == [made]

        alice_api.delete(f"{API}/{made}")

        assert self.current() == [str(copy.pk)]

    def test_they_succeed_when_the_promotion_is_purged(
        self, both, promoted, alice, project
    ):
        original, copy = both(scope=USER)
        made = promoted(original, delete_original=True).json()["id"]

        erase.purge(project, {"ids": [made]}, alice, reason="asked for")

        assert self.current() == [str(copy.pk)]

    def test_they_succeed_when_its_scope_is_deleted(
        self, both, promoted, alice, project
    ):
        original, copy = both(scope=USER)
        made = promoted(original, delete_original=True).json()["id"]
        scope = Memory.objects.get(pk=made).typed_scope

        delete.delete_scope(project, scope, alice)

        assert self.current() == [str(copy.pk)]

    def test_they_succeed_when_the_last_compaction_is_deleted(
        self, both, compacted, alice
    ):
        original, copy = both()
        first = Memory.objects.get(pk=compacted(original, delete_sources=True))
        made = compacted(first, delete_sources=True)
        assert self.current() == [made]

        past = timezone.now() - timedelta(seconds=1)
        Memory.objects.filter(pk=made).update(expires_at=past)
        expire.archive_expired(alice)

        assert self.current() == [str(copy.pk)]

    def test_they_stay_duplicates_when_the_compaction_is_undone(
        self, both, compacted, undone
    ):
        original, copy = both()
        made = compacted(original, delete_sources=True)
        assert undone(made).status_code == 200

        copy.refresh_from_db()
        assert self.current() == [str(original.pk)]
        assert copy.duplicate_of == original

    def test_they_do_not_succeed_when_another_original_exists(
        self, both, stored, promoted, alice_api
    ):
        made = promoted(both(scope=USER)[0], delete_original=True).json()["id"]
        (newer,) = stored("Known to all by now.")

        alice_api.patch(f"{API}/{made}", {"content": "Known to some by now."})
        alice_api.post(f"{API}/{made}/supersede", {"by": str(newer.pk)})

        assert self.current() == [str(newer.pk)]


def test_a_fact_that_a_promotion_supersedes_leaves_its_note(stored, promoted):
    stored("The database is granite.", kind="fact", key="db")
    (note,) = stored("The database is granite.", key="db")
    (newer,) = stored("It is marble.", kind="fact", key="db", scope=USER)

    promoted(newer)

    note.refresh_from_db()
    assert not note.is_duplicate


def test_a_duplicate_follows_an_original_that_was_restored_too_late(
    stored, promoted, alice
):
    text = "Kept by one user alone."
    original, copy = stored(text, text, scope=USER)
    promoted(original, delete_original=True)
    (newer,) = stored(text, scope=USER)

    restore.restore_memory(original.pk, alice)

    original.refresh_from_db()
    copy.refresh_from_db()
    assert original.duplicate_of == newer
    assert copy.duplicate_of == newer


class TestAPromotedCompaction:
    """The copy names the sources of the compaction, but it is no compaction itself."""

    def test_its_compaction_is_not_undone_at_the_copy(
        self, stored, compacted, promoted, undone, alice_api
    ):
        sources = stored("One of the two.", "The other one of them.", scope=USER)
        made = Memory.objects.get(pk=compacted(*sources, delete_sources=True))
        copy = promoted(made).json()["memory"]

        answer = undone(copy["id"])

        assert copy["compacted_from"] == [str(memory.pk) for memory in sources]
        assert (answer.status_code, answer.json()["code"]) == (409, "not_compacted")
        assert alice_api.get(f"{API}/{copy['id']}").status_code == 200

    def test_the_first_generation_is_read_with_it(
        self, stored, compacted, promoted, alice_api
    ):
        sources = stored("One of the two.", "The other one of them.", scope=USER)
        made = Memory.objects.get(pk=compacted(*sources, delete_sources=True))
        copy = promoted(made).json()["id"]

        lineage = alice_api.get(f"{API}/{copy}").json()["lineage"]

        assert lineage["sources"] == [str(memory.pk) for memory in (*sources, made)]


class TestADryRun:
    def test_it_shows_the_result_and_the_sources_that_would_go(
        self, stored, alice_api, project
    ):
        rows = stored("One of the two.", "The other one of them.", scope=USER)
        ids = [str(memory.pk) for memory in rows]
        body = {"project_id": str(project.pk), "content": "Both.", "source_ids": ids}

        answer = alice_api.post(
            f"{API}/compact", {**body, "delete_sources": True, "dry_run": True}
        )

        assert answer.status_code == 200
        assert answer.json()["deleted"] == ids
        assert answer.json()["memory"]["compacted_from"] == ids
        assert "id" not in answer.json()["memory"]
        assert Memory.objects.current().count() == 2

    def test_an_idempotency_key_is_free_after_it(self, stored, alice_api, project):
        (memory,) = stored("One of the two.", scope=USER)
        body = {"project_id": str(project.pk), "source_ids": [str(memory.pk)]}
        send = {"content": "One.", **body}, {"Idempotency-Key": "c-1"}

        alice_api.post(f"{API}/compact", {**send[0], "dry_run": True}, headers=send[1])
        answer = alice_api.post(f"{API}/compact", send[0], headers=send[1])

        assert answer.status_code == 201
