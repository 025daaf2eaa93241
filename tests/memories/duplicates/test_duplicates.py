from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.tasks import housekeeping
from audit.models import AuditEvent
from common import errors
from common.caller import Role
from jobs.models import Job
from memories import near_duplicates
from memories.duplicates import decide
from memories.lifecycle import delete, restore, supersede, update, verify
from memories.models import DuplicateFinding, File, Memory, PossibleDuplicate, Tag
from memories.scopes import Scope
from memories.store import write as store_write
from memories.store.drafts import Draft, FileRef
from memories.tasks import deduplicate, forget_findings
from projects.models import Project
from search import near
from tests.faults.test_purges_meanwhile import is_blocked

TEXT = "der Cache wird von dem nächtlichen Lauf der Suche nicht mehr geleert"
# The same without an article, which the hash does not leave out: a vector finds it.
NEAR = TEXT.replace("dem ", "")


@pytest.fixture
def store(project, alice):
    def make(content=TEXT, **fields):
        draft = Draft(content=content, memory_type="learning", **fields)
        return store_write.store(project, draft, alice)

    return make


@pytest.fixture
def store_all(project, alice):
    def make(*contents):
        drafts = [Draft(content=text, memory_type="learning") for text in contents]
        return store_write.commit(store_write.prepare(project, drafts, alice))

    return make


class TestNearDuplicates:
    def test_a_near_copy_points_to_the_original(self, store):
        first = store()

        again = store(NEAR)

        assert again.status == "duplicate"
        assert again.duplicate_of == first.memory

    def test_another_word_makes_a_possible_duplicate(self, store):
        first = store()

        again = store(TEXT + " search")

        assert again.status == "stored"
        assert again.possible_duplicates[0].memory == first.memory
        assert (
            PossibleDuplicate.objects.get().why_not_merged == "words: search / nothing"
        )

    def test_the_original_may_be_of_the_same_batch(self, store_all):
        first, again, other = store_all(
            TEXT,
            NEAR,
            "zebras have stripes",
        )

        # Which of the two comes first goes by their hashes.
        assert {first.status, again.status} == {"stored", "duplicate"}
        assert first.duplicate_of == again.memory or again.duplicate_of == first.memory
        assert other.status == "stored"

    def test_a_possible_duplicate_within_a_batch_is_reported(self, store_all):
        first, again = store_all(TEXT, TEXT + " search")

        assert (first.status, again.status) == ("stored", "stored")
        pair = PossibleDuplicate.objects.get()
        assert {pair.memory, pair.other} == {first.memory, again.memory}

    def test_one_of_the_same_batch_does_not_hide_a_nearer_one(
        self, store, store_all, project, monkeypatch
    ):
        project.settings = {"dedup": {"threshold": 0.75}}
        project.save(update_fields=["settings"])
        monkeypatch.setattr(near, "MAX_NEIGHBOURS", 1)
        text = "anchor beacon copper dynamo ember funnel girder hammer island jacket"
        store(text, sensitivity="sensitive")  # so near that it is all that is found
        nearest = store(text.replace("jacket", "kettle"))

        _, again = store_all(text.replace("hammer island", "ladder magnet"), text)

        assert again.possible_duplicates[0].memory == nearest.memory

    def test_one_query_finds_the_neighbours_of_a_batch(self, store, store_all):
        store()
        with CaptureQueriesContext(connection) as asked:
            receipts = store_all(NEAR, "zebras have stripes", "it rained in May")

        assert [each.status for each in receipts] == ["duplicate", "stored", "stored"]
        assert sum("WITH ORDINALITY AS asked" in each["sql"] for each in asked) == 1

    @pytest.mark.parametrize(
        "change", [{"content": "zebras have stripes"}, {"sensitivity": "sensitive"}]
    )
    def test_a_memory_that_changed_meanwhile_is_no_original(
        self, store, alice, monkeypatch, change
    ):
        first = store().memory
        hold = near_duplicates.lock_unchanged

        def after_a_change(original):
            monkeypatch.setattr(near_duplicates, "lock_unchanged", hold)
            update.update_memory(first, change, alice, None)
            return hold(original)

        monkeypatch.setattr(near_duplicates, "lock_unchanged", after_a_change)
        again = store(NEAR)

        assert (again.status, again.memory.is_duplicate) == ("stored", False)

    @pytest.mark.parametrize(
        "other",
        [
            {"sensitivity": "sensitive"},
            {"key": "cache"},
            {"scope": Scope("user", "u1")},
        ],
    )
    def test_only_candidates_are_compared(self, store, other):
        store()

        assert store(**other).status == "stored"

    def test_a_note_becomes_a_duplicate_of_a_fact_with_its_text(self, store):
        rows = [store(key="cache", files=(FileRef("cache.py"),)) for _ in range(2)]

        fact = store(key="cache", kind="fact")

        assert (fact.status, fact.memory.is_duplicate) == ("stored", False)
        (link,) = fact.memory.file_links.all()
        assert link.file.file_path == "cache.py"
        for row in rows:
            row.memory.refresh_from_db()
            assert row.memory.duplicate_of == fact.memory
        assert store(key="cache").duplicate_of == fact.memory

    def test_a_note_becomes_a_duplicate_of_a_restored_fact(self, store, alice):
        fact = store(key="cache", kind="fact").memory
        delete.delete_memory(fact.pk, alice, reason="by mistake")
        note = store(key="cache").memory

        restore.restore_memory(fact.pk, alice)

        for row in (fact, note):
            row.refresh_from_db()
        assert not fact.is_duplicate
        assert note.duplicate_of == fact

    def test_a_restored_fact_becomes_the_original_of_a_note(self, store, alice):
        note = store(key="cache").memory
        fact, again = (store(key="cache", kind="fact").memory for _ in range(2))
        for memory in (fact, again):
            delete.delete_memory(memory.pk, alice)
        Memory.objects.filter(pk=again.pk).update(is_duplicate=True, duplicate_of=note)

        restore.restore_memory(again.pk, alice)

        for row in (note, again):
            row.refresh_from_db()
        assert (again.is_duplicate, again.duplicate_of) == (False, None)
        assert note.duplicate_of == again

    def test_a_fact_succeeds_a_fact(self, store, alice):
        note = store(key="cache").memory
        fact, again = (store(key="cache", kind="fact").memory for _ in range(2))

        delete.delete_memory(fact.pk, alice)

        for row in (note, again):
            row.refresh_from_db()
        assert (again.is_duplicate, note.duplicate_of) == (False, again)

    def test_a_fact_with_the_text_of_a_note_supersedes_the_older_fact(
        self, store, alice
    ):
        old = store("zebras have stripes", key="cache", kind="fact").memory
        copy = store("zebras have stripes", key="cache").memory
        store(key="cache")

        new = store(key="cache", kind="fact")

        for row in (old, copy):
            row.refresh_from_db()
        assert (new.status, old.superseded_by) == ("superseded_key", new.memory)
        assert not copy.is_duplicate

    def test_a_superseded_fact_does_not_replace_a_note(self, store, alice):
        old = store("zebras have stripes", key="cache", kind="fact").memory
        store("zebras have manes", key="cache", kind="fact")
        note = store(key="cache").memory

        update.update_memory(old, {"content": TEXT}, alice, None)

        note.refresh_from_db()
        assert not note.is_duplicate

    def test_a_memory_that_was_deleted_meanwhile_is_not_changed(self, store, alice):
        fact = store("zebras have stripes", key="cache", kind="fact").memory
        note = store(key="cache").memory
        delete.delete_memory(fact.pk, alice)

        with pytest.raises(errors.NotFound):
            update.update_memory(fact, {"content": TEXT}, alice, None)

        note.refresh_from_db()
        assert not note.is_duplicate

    @pytest.mark.parametrize(
        "act",
        [
            verify.verify_memory,
            decide.unmark,
            lambda gone, caller: supersede.supersede_memory(
                gone, gone.duplicate_of, caller
            ),
            lambda gone, caller: supersede.supersede_memory(
                gone.duplicate_of, gone, caller
            ),
        ],
        ids=["verified", "unmarked", "superseded", "a successor"],
    )
    def test_a_memory_that_was_deleted_meanwhile_is_refused(self, store, alice, act):
        store()
        gone = store().memory
        delete.delete_memory(gone.pk, alice)
        state = Memory.objects.values().get(pk=gone.pk)

        with pytest.raises(errors.Refusal):
            act(gone, alice)

        assert Memory.objects.values().get(pk=gone.pk) == state
        assert Memory.objects.current().count() == 1

    def test_a_project_may_turn_it_off(self, store, project):
        project.settings = {"dedup": {"enabled": False}}
        project.save()
        store()

        reordered = NEAR
        assert store(reordered).status == "stored"

    def test_a_duplicate_leaves_its_files_with_the_original(self, store):
        first = store(files=(FileRef("a.py"),)).memory
        store(files=(FileRef("b.py"),))

        paths = first.file_links.values_list("file__file_path", flat=True)
        assert set(paths) == {"a.py", "b.py"}


class TestDecide:
    def test_an_unmarked_pair_is_never_marked_again(self, store, alice):
        first = store()
        again = store()

        decide.unmark(again.memory, alice, note="they differ")

        again.memory.refresh_from_db()
        assert not again.memory.is_duplicate
        assert PossibleDuplicate.objects.get().state == "kept_both"
        assert first.memory.pk in PossibleDuplicate.objects.values_list(
            "other", flat=True
        )

    def test_a_repeated_fact_is_not_unmarked(self, store, alice_api):
        fact = {"kind": "fact", "key": "python"}
        current, again = store("3.11", **fact).memory, store("3.11", **fact).memory

        answer = alice_api.post(f"/api/v1/memories/{again.pk}/unmark-duplicate", {})

        assert answer.status_code == 409
        assert str(current.pk) in answer.json()["detail"]
        again.refresh_from_db()
        assert again.duplicate_of == current

    def test_a_writer_may_not_unmark(self, store, bob_api):
        store()
        again = store().memory

        answer = bob_api.post(f"/api/v1/memories/{again.pk}/unmark-duplicate", {})

        assert answer.status_code == 403

    def test_merging_a_possible_duplicate_marks_the_newer(
        self, store, alice_api, project
    ):
        first, newer = store(), store(TEXT + " search")
        query = {"project_id": str(project.pk)}
        pair = alice_api.get("/api/v1/possible-duplicates", query).json()["results"][0]

        url, headers = (
            f"/api/v1/possible-duplicates/{pair['id']}/merge",
            {"Idempotency-Key": "1"},
        )
        answer = alice_api.post(url, {}, headers=headers)

        assert answer.json()["state"] == "merged"
        assert alice_api.post(url, {}, headers=headers).json() == answer.json()
        newer.memory.refresh_from_db()
        assert newer.memory.duplicate_of == first.memory
        again = alice_api.post(f"/api/v1/possible-duplicates/{pair['id']}/keep", {})
        assert again.status_code == 409

    @pytest.mark.parametrize(
        ("verdict", "told"), [("merge", "merged"), ("keep", "kept_both")]
    )
    def test_either_verdict_is_in_the_audit_record(
        self, store, project, alice_api, verdict, told
    ):
        store(), store(TEXT + " search")
        pair = PossibleDuplicate.objects.get()

        alice_api.post(f"/api/v1/possible-duplicates/{pair.pk}/{verdict}", {})

        event = AuditEvent.objects.get(object_id=pair.pk)
        assert event.verb == f"possible_duplicate.{told}"
        assert event.object_type == "possible_duplicate"
        assert (event.project_id, event.key_id) == (project.pk, alice_api.key.pk)

    def test_a_private_one_is_not_merged_into_a_sensitive_one(
        self, store, alice_api, alice
    ):
        first, _ = store().memory, store(TEXT + " search")
        update.update_memory(first, {"sensitivity": "sensitive"}, alice, None)
        pair = PossibleDuplicate.objects.get()

        answer = alice_api.post(f"/api/v1/possible-duplicates/{pair.pk}/merge", {})

        assert answer.status_code == 409
        assert "sensitivity" in answer.json()["detail"]
        pair.refresh_from_db()
        assert pair.state == PossibleDuplicate.PairState.OPEN


class TestConcurrency:
    @pytest.mark.django_db(transaction=True)
    def test_sixteen_clients_make_one_original_each(self, project, alice):
        texts = [f"lesson number {n} of the long list" for n in range(12)]

        def write(client):
            try:
                for text in texts[client % 12 :] + texts[: client % 12]:
                    draft = Draft(content=text, memory_type="learning", tags=("t",))
                    store_write.store(project, draft, alice)
            finally:
                connection.close()

        project.settings = {"dedup": {"enabled": False}}
        project.save()
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(write, range(16)))

        assert Memory.objects.count() == 16 * 12
        assert Memory.objects.filter(is_duplicate=False).count() == 12
        assert Tag.objects.with_usage_count(alice).get().usage_count == 12

    @pytest.mark.django_db(transaction=True)
    def test_batches_in_any_order_do_not_deadlock(self, project, alice):
        def write(client):
            try:
                order = range(20) if client % 2 else range(19, -1, -1)
                drafts = [
                    Draft(
                        content=f"lesson number {n} of the long list",
                        memory_type="learning",
                        files=(FileRef(f"f{n}.py"),),
                    )
                    for n in order
                ]
                store_write.commit(store_write.prepare(project, drafts, alice))
            finally:
                connection.close()

        project.settings = {"dedup": {"enabled": False}}
        project.save()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))

        assert Memory.objects.filter(is_duplicate=False).count() == 20
        assert {f.memory_count for f in File.objects.with_memory_count(alice)} == {1}

    @pytest.mark.django_db(transaction=True)
    def test_concurrent_writes_to_the_same_file_are_compared(self, store):
        def write_another():
            try:
                return store(
                    NEAR,
                    files=(FileRef("a.py"),),
                )
            finally:
                connection.close()

        with ThreadPoolExecutor(1) as pool, transaction.atomic():
            first = store(files=(FileRef("a.py"),))
            again = pool.submit(write_another)
            while not (again.done() or is_blocked()):
                pass

        assert again.result().duplicate_of == first.memory


class TestScan:
    def test_a_dry_run_reports_and_changes_nothing(
        self, store, alice_api, project, run_jobs
    ):
        self.three_alike(store, project)

        report = self.scan(alice_api, project, run_jobs, apply=False)

        assert report["result"]["duplicates"] == 2
        assert len(report["pairs"]) == 2
        assert not Memory.objects.filter(is_duplicate=True).exists()

    def test_applying_marks_what_the_dry_run_found(
        self, store, alice_api, project, run_jobs
    ):
        first = self.three_alike(store, project)
        dry = self.scan(alice_api, project, run_jobs, apply=False)

        report = self.scan(alice_api, project, run_jobs, apply=True)

        assert report["state"] == "done"
        pairs = [(p["memory_id"], p["original_id"]) for p in report["pairs"]]
        assert pairs == [(p["memory_id"], p["original_id"]) for p in dry["pairs"]]
        assert Memory.objects.filter(duplicate_of=first).count() == 2

    def test_a_writer_may_not_start_it(self, bob_api, project):
        answer = bob_api.post("/api/v1/deduplications", {"project_id": str(project.pk)})

        assert answer.status_code == 403

    def test_a_key_bound_to_a_user_does_not_read_what_it_found(
        self, client_of, alice_api, project
    ):
        body = {"project_id": str(project.pk)}
        started = alice_api.post("/api/v1/deduplications", body).json()
        bound = client_of(project, role=Role.OWNER, user_id="u1")

        answer = bound.get(f"/api/v1/deduplications/{started['id']}")

        assert answer.status_code == 404

    def test_its_findings_are_deleted_after_its_job(
        self, alice_api, project, store, run_jobs, time_machine
    ):
        self.three_alike(store, project)
        self.scan(alice_api, project, run_jobs, apply=False)
        time_machine.move_to(timezone.now() + timedelta(days=31))
        self.scan(alice_api, project, run_jobs, apply=False)
        found = DuplicateFinding.objects.count()

        housekeeping()
        forget_findings()

        left = DuplicateFinding.objects.all()
        assert len(left) == found // 2
        assert {finding.job_id for finding in left} == {Job.objects.get().pk}

    def test_a_changed_project_is_scanned_once_a_day_and_audited(
        self, store, alice_api, project, run_jobs, time_machine
    ):
        first = self.three_alike(store, project)
        store(f"{TEXT} gestern")
        project.settings = {}
        project.save()
        Project.objects.create(organization=project.organization, name="empty")
        named = {"project_id": str(project.pk), "kind": "deduplicate"}

        def next_day():
            time_machine.move_to(timezone.now() + timedelta(days=1))
            deduplicate()
            deduplicate()
            run_jobs()
            jobs = alice_api.get("/api/v1/jobs", named).json()["results"]
            return [job["result"] for job in jobs]

        (result,) = next_day()
        assert Memory.objects.filter(duplicate_of=first).count() == 2
        assert PossibleDuplicate.objects.get().state == "open"
        assert result == {
            "scanned": 4, "duplicates": 2, "possible_duplicates": 1, "applied": True
        }  # fmt: skip
        verbs = AuditEvent.objects.filter(verb__startswith="deduplication")
        assert list(verbs.order_by("pk").values_list("verb", flat=True)) == [
            "deduplication.start",
            "deduplication.finish",
        ]
        # The originals have what their duplicates had, and then nothing changes any more.
        assert len(next_day()) == len(next_day())

    def three_alike(self, store, project):
        project.settings = {"dedup": {"enabled": False}}
        project.save()
        first = store(TEXT).memory
        store(NEAR)
        store(TEXT.removeprefix("der "))
        return first

    def scan(self, api, project, run_jobs, *, apply):
        body = {"project_id": str(project.pk), "apply": apply}
        started = api.post("/api/v1/deduplications", body)
        assert started.status_code == 202
        run_jobs()
        return api.get(f"/api/v1/deduplications/{started.json()['id']}").json()
