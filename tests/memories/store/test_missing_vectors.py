"""What waits for its vectors: batches, projects, and the health check."""

from __future__ import annotations

import pytest
from django.db import connection

from inference.embedding.fake import outage
from jobs.models import Job
from memories.maintenance import embedding_wait
from memories.models import Memory
from memories.scopes import Scope
from memory_project import health
from playbook.lessons import intake
from tests.playbook.conftest import lesson, occasion

BATCH = "/api/v1/memories/batch"
LARGE = 21


@pytest.fixture
def write(alice_api, project):
    def post(count=LARGE, api=None, query="", **headers):
        items = [
            {"memory_type": "learning", "content": f"Fact number {n} of the harbour."}
            for n in range(count)
        ]
        body = {"project_id": str(project.pk), "memories": items}
        answer = (api or alice_api).post(
            f"{BATCH}{query}", body, format="json", headers=headers
        )
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


@pytest.fixture
def indexing(alice_api, project):
    def get(api=None):
        path = f"/api/v1/projects/{project.name}/indexing"
        return (api or alice_api).get(path).json()

    return get


@pytest.fixture
def _worker(monkeypatch, run_jobs):
    """A worker that runs while the request waits."""
    monkeypatch.setattr(embedding_wait.time, "sleep", lambda seconds: run_jobs())


@pytest.fixture
def slept(monkeypatch):
    """The pauses of a request; the clock is moved by them."""
    pauses = []
    monkeypatch.setattr(embedding_wait.time, "sleep", pauses.append)
    monkeypatch.setattr(embedding_wait.time, "monotonic", lambda: sum(pauses))
    return pauses


class TestBatch:
    def test_the_answer_names_its_job(self, write, alice_api, run_jobs):
        answer = write()

        assert answer["waiting"] == LARGE
        job = alice_api.get(f"/api/v1/jobs/{answer['job_id']}").json()
        assert (job["kind"], job["state"]) == ("embed", "waiting")

    def test_a_small_batch_has_no_job(self, write):
        answer = write(2)

        assert (answer["job_id"], answer["waiting"]) == (None, 0)

    def test_a_bound_key_is_not_told_the_job(self, write, client_of, project):
        bound = client_of(project, user_id="alice")

        answer = write(api=bound)

        assert (answer["job_id"], answer["waiting"]) == (None, LARGE)

    @pytest.mark.usefixtures("_worker")
    def test_it_waits_until_the_batch_is_embedded(self, write):
        answer = write(query="?wait=30")

        assert answer["waiting"] == 0
        told = [(r["searchable"]["semantic"], r["notes"]) for r in answer["results"]]
        assert told == [(True, [])] * LARGE

    def test_it_waits_no_longer_than_it_was_asked(self, write, slept):
        answer = write(query="?wait=1.5")

        assert answer["waiting"] == LARGE
        assert sum(slept) == pytest.approx(1.5)
        assert not any(r["searchable"]["semantic"] for r in answer["results"])

    def test_it_does_not_wait_for_a_job_that_failed(self, write, slept, monkeypatch):
        monkeypatch.setattr(
            embedding_wait, "find_embedding_job", lambda project_id: None
        )

        write(query="?wait=30")

        assert slept == []

    @pytest.mark.usefixtures("_worker")
    def test_a_repeated_request_waits_too(self, write):
        request = {"query": "?wait=30", "Idempotency-Key": "batch-1"}

        assert [write(**request)["waiting"] for _ in range(2)] == [0, 0]
        assert Memory.objects.count() == LARGE

    @pytest.mark.parametrize("query", ["?wait=31", "?wait=-1", "?wait=soon"])
    def test_a_wait_out_of_bounds_is_refused(self, alice_api, project, query):
        body = {"project_id": str(project.pk), "memories": [{"content": "A harbour"}]}
        refused = alice_api.post(f"{BATCH}{query}", body, format="json")

        assert refused.status_code == 400
        assert "wait" in refused.json()["errors"]
        assert not Memory.objects.exists()


class TestProject:
    def test_nothing_waits_at_first(self, indexing):
        assert indexing() == {"waiting": 0, "failed": 0, "oldest": None}

    def test_it_counts_what_waits_and_since_when(self, write, indexing, run_jobs):
        write()
        before = indexing()
        run_jobs()

        oldest = Memory.objects.earliest("created_at").created_at
        assert (before["waiting"], before["failed"]) == (LARGE, 0)
        assert before["oldest"] == oldest.isoformat().replace("+00:00", "Z")
        assert indexing() == {"waiting": 0, "failed": 0, "oldest": None}

    def test_it_counts_playbook_entries(self, alice_api, project, indexing):
        with outage():
            body = {
                "project_id": str(project.pk),
                "category": "gotchas",
                "content": "Take the lock before you read the stock.",
            }
            alice_api.post("/api/v1/playbook/rules", body, format="json")

        assert indexing()["waiting"] == 1

    def test_it_counts_waiting_lessons(self, project, alice, indexing):
        text = "When calling `edit_file`, pass `path` instead of `file`."
        with outage():
            (delta,) = intake.take(project, [lesson(text)], occasion(text), alice)

        assert delta.status == "pending"
        assert indexing()["waiting"] == 1

    def test_without_a_job_they_failed(self, write, indexing):
        write()
        Job.objects.update(state="failed")

        assert indexing() == {"waiting": 0, "failed": LARGE, "oldest": None}

    def test_a_refused_text_failed(self, write, indexing):
        refused = write()["results"][0]["id"]
        Job.objects.create(
            kind="embed",
            state="done",
            project_id=Job.objects.get(kind="embed").project_id,
            result={"embedded": 0, "refused": [f"{refused}: too odd"]},
        )

        told = indexing()

        assert (told["waiting"], told["failed"]) == (LARGE - 1, 1)

    def test_a_bound_key_counts_what_it_may_read(
        self, write, indexing, client_of, project
    ):
        write()
        scope = Scope("user", "bob")
        hidden = Memory.objects.all()[:5].values("pk")
        Memory.objects.filter(pk__in=hidden).update(
            scope_kind="user", scope_key="bob", scope_hash=scope.hash
        )

        bound = client_of(project, user_id="alice")
        assert indexing(bound)["waiting"] == LARGE - 5

    def test_charlie_finds_no_such_project(self, charlie_api, project):
        path = f"/api/v1/projects/{project.pk}/indexing"

        assert charlie_api.get(path).status_code == 404

    def test_a_project_may_be_named_with_slashes(self, project, indexing):
        project.name = "a/b"
        project.save()

        assert indexing()["waiting"] == 0


class TestWithoutAModel:
    """The model of the settings cannot be loaded, and no vector was ever stored."""

    @pytest.fixture(autouse=True)
    def _no_model(self, settings):
        settings.EMBEDDING_PROVIDER = "gone"

    def test_a_long_text_is_stored(self, alice_api, project):
        content = " ".join(f"word{n}" for n in range(400))
        body = {
            "project_id": str(project.pk),
            "memory_type": "learning",
            "content": content,
        }

        stored = alice_api.post("/api/v1/memories", body, format="json")

        assert stored.status_code == 201, stored.content
        assert stored.json()["searchable"] == {"keyword": True, "semantic": False}

    def test_texts_wait_for_the_model(self, write, indexing):
        write(2)

        assert indexing()["waiting"] == 2

    def test_a_batch_can_be_waited_for(self, write, slept):
        assert write(query="?wait=1")["waiting"] == LARGE

    def test_a_memory_can_be_changed(self, write, alice_api):
        path = f"/api/v1/memories/{write(1)['results'][0]['id']}"

        changed = alice_api.patch(path, {"sensitivity": "public"}, format="json")
        assert changed.status_code == 200, changed.content


@pytest.mark.django_db
class TestReadiness:
    def test_it_counts_texts_without_a_vector(self, write, run_jobs):
        none = health.check_indexing().more
        write()
        some = health.check_indexing().more
        run_jobs()

        assert (none, some) == ({"missing": 0}, {"missing": LARGE})
        assert health.check_indexing().more == {"missing": 0}

    def test_a_count_that_takes_too_long_is_left_out(self, write, monkeypatch):
        def count():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(10)")

        monkeypatch.setattr(health, "COUNT_SECONDS", 0.01)
        monkeypatch.setattr(health.missing_vectors, "count_missing", count)

        check = health.check_indexing()

        assert (check.ok, check.more) == (True, {"missing": None})
        assert Memory.objects.count() == 0
