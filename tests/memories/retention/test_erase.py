from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.models import IdempotencyKey
from ace import run as runs
from ace.models import AceRun
from audit.models import AuditEvent
from common.caller import Role
from common.erasure import redaction, references
from jobs import runner
from jobs.models import Job
from memories import personal_data
from memories.models import File, Memory, MemoryChange, MemoryVector, Purge, Tag
from memories.scoped_store import ScopedStore
from playbook.history import replay
from playbook.models import PlaybookDelta
from projects import deletion
from projects.models import Project
from search.models import LexemeStat
from tests.isolation.world import MARK, a_finished_task, private_part

API = "/api/v1"
LONG_AGO = timezone.now() - timedelta(days=1)
USER = {"kind": "user", "user_id": f"user-of-{MARK}"}


# Where the word stands before the purge of a user, so that its absence says something.
HOLDING = {
    "access_idempotencykey",
    "ace_acerun",
    "ace_reflection",
    "jobs_job",
    "memories_file",
    "memories_memory",
    "memories_memorychange",
    "memories_possibleduplicate",
    "memories_tag",
    "playbook_playbookchange",
    "playbook_playbookdelta",
    "playbook_playbookentry",
}


@pytest.fixture
def store(bob_api, project):
    def store(content, **more):
        body = {
            "project_id": str(project.pk),
            "memory_type": "learning",
            "content": content,
            **more,
        }
        answer = bob_api.post(f"{API}/memories", body)
        assert answer.status_code in (200, 201), answer.content
        return answer.json()["id"]

    return store


@pytest.fixture
def ask(alice_api, project):
    def ask(**body):
        given = {"project_id": str(project.pk), "reason": "Bob asked for it", **body}
        return alice_api.post(f"{API}/purge", given)

    return ask


def traces(word):
    """Where a word stands in any column of any table: what a dump would hold."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" AS t')
            rows = (row[0] for row in cursor.fetchall())
            found += [(table, row) for row in rows if word in row.lower()]
    return found


class TestMemory:
    def test_its_text_is_removed_and_its_mask_stays(self, ask, store):
        pk = store("Bob has the grippe and stays at home", title="Bob", tags=["bob"])

        receipt = ask(ids=[pk]).json()

        memory = Memory.objects.get(pk=pk)
        assert receipt["state"] == "done"
        assert receipt["counts"]["memories_memory"] == 1
        assert memory.content == redaction.redact(
            "Bob has the grippe and stays at home"
        )
        assert (memory.tags, memory.delete_reason) == ([], receipt["id"])
        assert not traces("grippe")

    def test_its_history_keeps_the_actions_without_the_texts(self, ask, store, bob_api):
        pk = store("Bob has the grippe and stays at home")
        bob_api.patch(
            f"{API}/memories/{pk}", {"content": "Bob has influenza, it seems"}
        )

        ask(ids=[pk])

        changes = MemoryChange.objects.filter(memory_id=pk).order_by("pk")
        assert [c.action for c in changes] == ["create", "update", "purge"]
        assert not traces("influenza")

    def test_searches_no_longer_find_it(self, ask, store, alice_api, project):
        pk = store("Bob has the grippe and stays at home")
        asked = {"project_id": str(project.pk), "query": "grippe"}
        assert alice_api.post(f"{API}/search", asked).json()["hits"]

        ask(ids=[pk])

        assert not alice_api.post(f"{API}/search", asked).json()["hits"]
        assert alice_api.get(f"{API}/memories/{pk}").status_code == 404
        assert not MemoryVector.objects.filter(memory=pk).exists()

    def test_it_cannot_be_restored(self, ask, store, bob_api):
        pk = store("Bob has the grippe and stays at home")
        ask(ids=[pk])

        answer = bob_api.post(f"{API}/memories/{pk}/restore")

        assert answer.status_code == 404

    def test_its_words_are_no_longer_counted(self, ask, store, project):
        for number in range(3):
            store(f"The influenza of patient {number} in ward {number + 7}")
        ids = list(Memory.objects.values_list("pk", flat=True))

        ask(ids=[str(pk) for pk in ids])

        assert not LexemeStat.objects.filter(lexeme__contains="influ").exists()

    def test_files_and_tags_of_others_stay(self, ask, store):
        common = {"file_paths": ["a.py"], "tags": ["ours"]}
        store("The first reads the shared file", **common)
        pk = store(
            "The second reads a file of its own",
            file_paths=["a.py", "bob.py"],
            tags=["ours", "bobs"],
        )

        ask(ids=[pk])

        assert [f.file_path for f in File.objects.all()] == ["a.py"]
        assert [t.name for t in Tag.objects.all()] == ["ours"]

    def test_its_former_files_and_tags_are_removed_too(self, ask, store, bob_api):
        pk = store("He stays at home", tags=["grippe"], file_paths=["grippe.py"])
        bob_api.patch(f"{API}/memories/{pk}", {"tags": [], "file_paths": []})

        ask(ids=[pk])

        assert not traces("grippe")

    def test_the_audit_trail_names_none_of_its_own_tags(
        self, ask, store, alice_api, project
    ):
        ids = [store("He stays at home", tags=["grippe"])]
        url, listed = f"{API}/tags", {"project_id": str(project.pk), "q": "grippe"}
        alice_api.post(url, {"project_id": str(project.pk), "name": "illness"})
        [tag] = alice_api.get(url, listed).json()["results"]
        alice_api.post(f"{url}/{tag['id']}/merge", {"into": "illness"})
        ids.append(store("They are away", tags=["grippe"]))
        [tag] = alice_api.get(url, listed).json()["results"]
        alice_api.delete(f"{url}/{tag['id']}")

        ask(ids=ids)

        assert not traces("grippe")
        assert Tag.objects.get().name == "illness"

    def test_a_duplicate_succeeds_its_original(self, ask, store):
        first = store("The cache is warmed at night")
        second = store("The cache is warmed at night")

        receipt = ask(ids=[first]).json()

        heir = Memory.objects.get(pk=second)
        assert (heir.is_duplicate, heir.content[:9]) == (False, "The cache")
        assert receipt["descendants"] == [
            {
                "kind": "memory",
                "id": second,
                "how": "a duplicate of it",
                "is_purged": False,
            }
        ]

    def test_a_job_of_all_projects_no_longer_quotes_it(self, ask, store):
        pk = store("Bob has the grippe and stays at home")
        job = Job.objects.create(
            kind="reembed",
            state="waiting",
            args={"model": "small"},
            cursor={"shelf": 0, "after": pk},
            result={"refused": [f"{pk}: the grippe is odd"]},
            error="Later: cannot embed 'Bob has the grippe'",
        )

        ask(ids=[pk])

        job.refresh_from_db()
        assert job.error.startswith("Later: [purged]")
        assert (job.args, job.cursor["after"]) == ({"model": "small"}, pk)
        assert not traces("grippe")


class TestDescendants:
    @pytest.fixture
    def family(self, store, bob_api, project):
        """A memory, its promotion, and a compaction of that."""
        user = {"kind": "user", "user_id": "bob"}
        source = store("Bob has the grippe and stays at home", scope=user)
        promoted = bob_api.post(
            f"{API}/memories/{source}/promote",
            {"target_scope": {"kind": "workspace"}},
        ).json()["id"]
        compacted = bob_api.post(
            f"{API}/memories/compact",
            {
                "project_id": str(project.pk),
                "source_ids": [promoted],
                "content": "Somebody has the grippe this week",
            },
        ).json()["id"]
        return source, promoted, compacted

    def test_it_is_left_to_a_person(self, ask, family):
        source, promoted, _ = family

        receipt = ask(ids=[source]).json()

        told = [(d["id"], d["how"], d["is_purged"]) for d in receipt["descendants"]]
        assert told == [(promoted, "promoted from it", False)]
        assert Memory.objects.get(pk=promoted).content.startswith("Bob")

    def test_with_cascade_it_is_purged_too(self, ask, family):
        receipt = ask(ids=[family[0]], cascade=True).json()

        assert {d["id"] for d in receipt["descendants"]} == set(family[1:])
        assert receipt["counts"]["memories_memory"] == 3
        assert not traces("grippe")

    def test_a_second_purge_finishes_the_first(self, ask, family):
        ask(user_id="bob")

        receipt = ask(user_id="bob", cascade=True).json()

        assert receipt["counts"]["memories_memory"] == 2
        assert not traces("grippe")


class TestSelection:
    @pytest.mark.parametrize(
        ("scope", "asked"),
        [
            (USER, {"user_id": USER["user_id"]}),
            (USER, {"scope": USER}),
            (
                {"kind": "session", "session_id": "s1", "user_id": "bob"},
                {"session_id": "s1"},
            ),
            (
                {"kind": "session", "session_id": "s1", "user_id": "bob"},
                {"user_id": "bob"},
            ),
            (
                {"kind": "object", "object_type": "patient", "object_id": "p1"},
                {"object": {"object_type": "patient", "object_id": "p1"}},
            ),
        ],
    )
    def test_it_removes_exactly_the_selection(self, ask, store, scope, asked):
        taken = store("Bob has the grippe and stays at home", scope=scope)
        left = store("The deploy script needs a token to run")

        receipt = ask(**asked).json()

        assert receipt["counts"]["memories_memory"] == 1
        assert redaction.is_redacted(Memory.objects.get(pk=taken).content)
        assert not redaction.is_redacted(Memory.objects.get(pk=left).content)

    def test_it_removes_deleted_and_expired_memories(self, ask, store, bob_api):
        soon = (timezone.now() - timedelta(days=1)).isoformat()
        store("Bob has the grippe and stays at home", scope=USER, expires_at=soon)
        gone = store("Bob had the grippe last year, too", scope=USER)
        bob_api.delete(f"{API}/memories/{gone}")

        receipt = ask(user_id=USER["user_id"]).json()

        assert receipt["counts"]["memories_memory"] == 2

    def test_it_stays_in_its_project(self, ask, client_of, other_project):
        theirs = client_of(other_project).post(
            f"{API}/memories",
            {
                "project_id": str(other_project.pk),
                "memory_type": "learning",
                "content": "Bob has the grippe and stays at home",
                "scope": USER,
            },
        )

        ask(user_id=USER["user_id"])

        memory = Memory.objects.get(pk=theirs.json()["id"])
        assert memory.content.startswith("Bob")


class TestRefusals:
    def test_it_needs_an_owner(self, store, client_of, project):
        pk = store("Bob has the grippe and stays at home")
        body = {"project_id": str(project.pk), "ids": [pk], "reason": "no"}

        answer = client_of(project, role=Role.CURATOR).post(f"{API}/purge", body)

        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")

    def test_a_key_of_one_user_cannot(self, store, client_of, project):
        body = {"project_id": str(project.pk), "user_id": "bob", "reason": "mine"}

        answer = client_of(project, user_id="bob").post(f"{API}/purge", body)

        assert answer.status_code == 403

    def test_charlie_sees_no_such_project(self, charlie_api, project):
        body = {"project_id": str(project.pk), "user_id": "bob", "reason": "no"}

        assert charlie_api.post(f"{API}/purge", body).status_code == 404

    def test_an_unknown_id_purges_nothing(self, ask, store):
        pk = store("Bob has the grippe and stays at home")

        answer = ask(ids=[pk, "0198c0de-0000-7000-8000-000000000001"])

        assert answer.status_code == 404
        assert Memory.objects.get(pk=pk).content.startswith("Bob")
        assert not Purge.objects.exists()

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"user_id": "bob", "session_id": "s1"},
            {"ids": []},
            {"user_id": "bob", "reason": ""},
            {"scope": {"kind": "user"}},
            {"ids": ["zebra"]},
            {"user_id": ""},
            {"object": {"object_id": "1"}},
            {"user_id": "bob", "cascade": "maybe"},
        ],
    )
    def test_it_names_the_missing_field(self, ask, body):
        answer = ask(**body)

        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")

    def test_it_waits_for_every_worker_on_a_run(
        self, ask, bob_api, project, monkeypatch
    ):
        """The request, its repetition, each attempt of the job, and a resumption."""
        refused = []

        def learning(run, caller):
            answer = ask(ids=[str(run.memory_id)])
            refused.append((answer.status_code, answer.json()["code"]))
            raise RuntimeError

        def later():
            AceRun.objects.update(created_at=LONG_AGO)
            Job.objects.filter(state="waiting").update(
                run_after=LONG_AGO, lease_until=LONG_AGO
            )

        monkeypatch.setitem(runs.PHASES, "reflector", learning)
        task = {"project_id": str(project.pk), "goal": f"Fix the {MARK} build"}
        key = {"headers": {"Idempotency-Key": "k"}}
        run_id = bob_api.post(f"{API}/complete-task", task, **key).json()["run_id"]
        for _ in range(runs.ATTEMPTS):
            later()
            runner.run(Job.objects.get(kind=runs.KIND).pk)
        assert AceRun.objects.get().state == "failed"
        bob_api.post(f"{API}/runs/{run_id}/resume")
        later()
        bob_api.post(f"{API}/complete-task", task, **key)
        later()

        number = 1 + runs.ATTEMPTS + 1 + 1
        assert refused == [(409, "run_unfinished")] * number
        memory_id = AceRun.objects.get().memory_id
        assert ask(ids=[str(memory_id)]).status_code == 200


class TestDryRun:
    def test_it_counts_what_a_purge_removes_and_changes_nothing(self, ask, store):
        pk = store("Bob has the grippe and stays at home", file_paths=["bob.py"])

        planned = ask(ids=[pk], dry_run=True).json()

        assert Memory.objects.get(pk=pk).content.startswith("Bob")
        assert not Purge.objects.exists()
        done = ask(ids=[pk]).json()
        assert planned["counts"] == done["counts"]

    def test_a_second_purge_has_nothing_to_do(self, ask, store):
        pk = store("Bob has the grippe and stays at home")
        ask(ids=[pk])

        assert ask(ids=[pk]).json()["counts"] == {}


class TestReceipt:
    @pytest.fixture
    def receipt(self, ask, store):
        pk = store("Bob has the grippe and stays at home", scope=USER)
        assert pk
        return ask(user_id=USER["user_id"]).json()

    def test_an_owner_reads_it(self, receipt, alice_api, project):
        url = f"{API}/purges/{receipt['id']}"

        assert alice_api.get(url).json() == receipt
        listed = alice_api.get(f"{API}/purges", {"project_id": str(project.pk)})
        assert [row["id"] for row in listed.json()["results"]] == [receipt["id"]]

    def test_nobody_else_does(self, receipt, bob_api, charlie_api):
        for api in (bob_api, charlie_api):
            assert api.get(f"{API}/purges/{receipt['id']}").status_code == 404

    def test_it_proves_a_text_without_telling_it(self, receipt, alice_api):
        url = f"{API}/purges/{receipt['id']}/proof"

        proof = alice_api.post(url, {"text": "Bob has the grippe and stays at home"})
        other = alice_api.post(url, {"text": "Bob has the grippe and stays at work"})

        assert proof.json()["is_purged"]
        assert proof.json()["texts"][0]["table"] == "memories_memory"
        assert not other.json()["is_purged"]

    def test_it_does_not_name_the_user(self, receipt):
        told = receipt["selection"]["user_id"]

        assert told == redaction.redact(USER["user_id"])

    def test_it_is_audited_without_a_text(self, receipt):
        event = AuditEvent.objects.get(verb="purge")

        assert event.object_id == receipt["id"]
        assert event.detail["counts"] == receipt["counts"]

    def test_its_texts_come_in_pages(self, receipt, alice_api):
        url = f"{API}/purges/{receipt['id']}"

        page = alice_api.get(url, {"limit": 1}).json()
        rest = alice_api.get(url, {"after": page["texts_after"]}).json()

        assert page["texts"] + rest["texts"] == receipt["texts"]

    def test_the_same_request_gets_the_same_receipt(self, alice_api, store, project):
        pk = store("Bob has the grippe and stays at home")
        body = {"project_id": str(project.pk), "ids": [pk], "reason": "asked"}

        first = alice_api.post(f"{API}/purge", body, HTTP_IDEMPOTENCY_KEY="p1")
        again = alice_api.post(f"{API}/purge", body, HTTP_IDEMPOTENCY_KEY="p1")

        assert first.json() == again.json()
        assert Purge.objects.count() == 1


def test_the_store_of_the_same_process_purges_too(store, project, alice):
    pk = store("Bob has the grippe and stays at home", scope=USER)

    receipt = ScopedStore(project, alice).purge({"scope": USER}, reason="Bob asked")

    assert receipt.state == "done"
    assert redaction.is_redacted(Memory.objects.get(pk=pk).content)


class TestCommand:
    @pytest.fixture
    def purge(self, project, capsys):
        def purge(*given):
            call_command("purge", project.name, *given, "--reason", "Bob asked")
            return json.loads(capsys.readouterr().out)

        return purge

    def test_it_counts_and_then_purges(self, purge, store):
        pk = store("Bob has the grippe and stays at home", scope=USER)

        planned = purge("--user", USER["user_id"], "--dry-run")
        done = purge("--user", USER["user_id"])

        assert planned["counts"] == done["counts"] != {}
        assert redaction.is_redacted(Memory.objects.get(pk=pk).content)

    def test_it_names_an_id_that_is_missing(self, purge):
        missing = "0198c0de-0000-7000-8000-000000000001"

        with pytest.raises(CommandError, match=missing):
            purge("--ids", missing)


class TestLargePurge:
    def test_a_job_does_it(self, ask, store, run_jobs, monkeypatch, alice_api):
        monkeypatch.setattr(personal_data, "MAX_INLINE", 1)
        for number in range(3):
            store(f"Bob has the grippe since day {number}", scope=USER)

        answer = ask(user_id=USER["user_id"])
        waiting = answer.json()
        run_jobs()

        assert (answer.status_code, waiting["state"]) == (202, "waiting")
        done = alice_api.get(f"{API}/purges/{waiting['id']}").json()
        assert (done["state"], done["counts"]["memories_memory"]) == ("done", 3)
        assert not traces("grippe")
        assert not traces(USER["user_id"])

    def test_a_repeated_request_does_not_name_the_user(
        self, ask, store, run_jobs, monkeypatch, alice_api
    ):
        monkeypatch.setattr(personal_data, "MAX_INLINE", 0)
        store("Bob has the grippe and stays at home", scope=USER)
        _keyed(alice_api)

        waiting = ask(user_id=USER["user_id"]).json()
        run_jobs()

        assert waiting["selection"] == {"user_id": USER["user_id"]}
        assert IdempotencyKey.objects.get().answer["id"] == waiting["id"]
        assert not traces(USER["user_id"])

    def test_a_cancelled_purge_does_not_name_the_user_after_the_next_one(
        self, ask, store, monkeypatch, alice_api
    ):
        store("Bob has the grippe and stays at home", scope=USER)
        with monkeypatch.context() as patch:
            patch.setattr(personal_data, "MAX_INLINE", 0)
            waiting = ask(user_id=USER["user_id"]).json()
        alice_api.post(f"{API}/jobs/{waiting['job_id']}/cancel")

        ask(user_id=USER["user_id"])

        assert not traces(USER["user_id"])

    def test_it_removes_what_a_deleted_project_could_restore(
        self, ask, store, run_jobs, monkeypatch, alice_api, project
    ):
        monkeypatch.setattr(personal_data, "MAX_INLINE", 0)
        store("Bob has the grippe and stays at home", scope=USER)
        ask(user_id=USER["user_id"])

        alice_api.delete(f"{API}/projects/{project.pk}")
        run_jobs()
        alice_api.post(f"{API}/projects/{project.pk}/restore")

        assert Purge.objects.get().counts["memories_memory"] == 1
        assert not traces("grippe")

    def test_each_statement_looks_through_a_batch_of_kept_answers(
        self, ask, store, bob_api, monkeypatch
    ):
        monkeypatch.setattr(references, "BATCH_SIZE", 2)
        _keyed(bob_api)
        ids = [store(f"Bob has the grippe for day {n} of his leave") for n in range(5)]

        with CaptureQueriesContext(connection) as asked:
            receipt = ask(ids=ids[1:]).json()

        looks = [one["sql"] for one in asked if "regexp_matches" in one["sql"]]
        assert looks
        assert all(sql.endswith("LIMIT 2") for sql in looks)
        assert receipt["counts"]["access_idempotencykey"] == 4
        answers = str(list(IdempotencyKey.objects.values_list("answer")))
        assert answers.count("the grippe") == 1


def test_a_deleted_project_leaves_no_receipt(ask, store, project, run_jobs):
    ask(ids=[store("Bob has the grippe and stays at home")])
    project.delete_after = timezone.now() - timedelta(days=1)
    project.save()

    deletion.enqueue_due()
    run_jobs()

    assert not Purge.objects.exists()
    assert not Project.objects.filter(pk=project.pk).exists()


class TestDump:
    def test_nothing_of_a_user_is_left_in_any_table(
        self, ask, client_of, project, alice_api, run_jobs
    ):
        """Memories, history, vectors, runs, evidence, answers, jobs, the playbook."""
        own = client_of(project, role=Role.CURATOR, user_id=USER["user_id"])
        run_id = a_finished_task(_keyed(own), project, MARK)
        made = private_part(_keyed(client_of(project)), project, MARK, scope=USER)
        accepted = alice_api.post(f"{API}/proposals/{made['delta']}/accept")
        assert accepted.status_code == 200, accepted.content
        run_jobs()
        job = Job.objects.create(
            kind="embed",
            project_id=project.pk,
            state="failed",
            error=f"ValueError: cannot embed {MARK}",
            result={"refused": [f"{Memory.objects.first().pk}: {MARK} is odd"]},
        )
        run = AceRun.objects.get(pk=run_id)
        assert run.state == "done", run.phases
        assert run.memory.user_id == USER["user_id"]
        assert {table for table, _ in traces(MARK)} >= HOLDING

        receipt = ask(user_id=USER["user_id"], cascade=True)

        assert receipt.status_code == 200, receipt.content
        own.key.delete()  # it is bound to the user by name
        assert [(t, row[:300]) for t, row in traces(MARK)] == []
        job.refresh_from_db()
        assert job.error.startswith("ValueError: [purged]")
        assert replay.snapshot_at(project) == replay.current_snapshot(project)
        assert not PlaybookDelta.objects.pending().exists()


def _keyed(api):
    """A client that sends another Idempotency-Key with each of its posts."""
    post = api.post
    sent = iter(range(1_000))
    api.post = lambda *args, **kwargs: post(
        *args, HTTP_IDEMPOTENCY_KEY=f"n{next(sent)}", **kwargs
    )
    return api
