"""Jobs, messages and schedules of the release before run under this release.

The code of commit 259416a wrote `release_before.json`: a project with a waiting job for each
kind of job; the outcome of each job, from its start and from the cursor of a dead worker;
the answers of the API about these rows; the messages in the broker, the schedule and the
names of the heartbeats. Never write the file again with later code to make a test pass.
"""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.core import serializers
from django.utils import timezone

from access.models import ApiKey
from ace.models import (
    AceRun,
    ObservedRepair,
    TaskCommand,
    TaskFile,
    TaskInstructions,
    TaskLookup,
)
from inference.embedding import active_model, model_record, reembed
from jobs import runner
from jobs.models import Heartbeat, Job
from memories.models import MemoryExposure
from memory_project.celery import app as celery_app
from projects import deletion
from search.models import Corpus

pytestmark = pytest.mark.django_db
BEFORE = json.loads(Path(__file__).with_name("release_before.json").read_text())
TABLES = {"projects", "memories", "playbook", "ace", "search", "inference", "jobs"}
MESSAGES = {message["headers"]["task"]: message for message in BEFORE["messages"]}
# The apps whose rows a deleted project had not at the time of that release.
NEW_REMOVERS = 2
# That release observed, too, that a task changed files and ran no check; and it applied what
# the output of a test advised, which waits for a person now.
NO_CHECK = {"ace_observation": 1}
ADVICE_OF_TEST = dict.fromkeys(
    ("playbook_playbookentry", "playbook_support", "playbook_entryvector"), 1
) | {"playbook_playbookchange": 2, "playbook_deltavector": -1}
FEWER_ROWS = {
    "ace": NO_CHECK | ADVICE_OF_TEST,
    "ace, reflected": ADVICE_OF_TEST,
    "resume a run": NO_CHECK | ADVICE_OF_TEST,
    "resume a run after its reflection": ADVICE_OF_TEST,
}
LISTS = [route for route in BEFORE["answers"] if "{}" not in route]
ROWS = {
    "memories.memory": ("memories/{}", "memories/{}/history"),
    "memories.purge": ("purges/{}",),
    "playbook.playbookentry": ("playbook/entries/{}", "playbook/entries/{}/blame"),
    "playbook.playbookdelta": ("playbook/deltas/{}",),
    "ace.acerun": ("ace/runs/{}",),
    "jobs.job": ("jobs/{}",),
    "projects.project": ("projects/{}", "projects/{}/settings"),
}


@pytest.fixture
def rows(db, settings):
    settings.EMBEDDING_DIMENSIONS = 32
    settings.EMAIL_URL = "smtp://localhost"
    for row in serializers.deserialize("json", json.dumps(BEFORE["rows"])):
        row.save()
    # The release before believed every claim; an owner lets the keys of then attest.
    AceRun.objects.update(is_attested=True)
    ApiKey.objects.update(may_attest=True)


@pytest.fixture
def job_of(rows, settings):
    """Read the job that waits under this name."""

    def read(name):
        if name == "reembed":
            settings.EMBEDDING_DIMENSIONS = 16
        return Job.objects.get(pk=BEFORE["jobs"][name])

    return read


NEW = (
    Heartbeat,
    MemoryExposure,
    ObservedRepair,
    TaskCommand,
    TaskFile,
    TaskInstructions,
    TaskLookup,
)


def count_rows():
    """Count the rows of each table; what the release lacked does not count."""
    counts = {
        model._meta.db_table: model._base_manager.count()
        for model in apps.get_models()
        if model._meta.app_label in TABLES and model not in NEW
    }
    new = Job.objects.exclude(kind__in=BEFORE["kinds"]).count()
    new_corpora = Corpus.objects.filter(name__in=["messages", "summaries"]).count()
    return counts | {
        "jobs_job": counts["jobs_job"] - new,
        "search_corpus": counts["search_corpus"] - new_corpora,
    }


def difference(before):
    after = count_rows()
    return {
        table: after[table] - before[table]
        for table in after
        if after[table] != before[table]
    }


def outcome(job):
    """Run a job; return how it ends and how many rows it adds to each table."""
    before = count_rows()
    runner.run(job.pk)
    added = difference(before)
    job.refresh_from_db()
    return {
        "state": job.state,
        "error": job.error,
        "result": job.result,
        "done": job.done,
        "total": job.total - NEW_REMOVERS if job.kind == deletion.KIND else job.total,
        "rows": added,
    }


def rows_now(name, rows):
    """Return how many rows a job or an act of then adds to each table in this release."""
    fewer = FEWER_ROWS.get(name, {})
    tables = rows.keys() | fewer.keys()
    return {table: rows.get(table, 0) - fewer.get(table, 0) for table in tables}


def shape_of(value):
    """Return the keys and the types of an answer; equal items of a list count once."""
    if isinstance(value, dict):
        return {key: shape_of(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        shapes = {json.dumps(shape_of(inner)): shape_of(inner) for inner in value}
        return [shapes[text] for text in sorted(shapes)]
    return type(value).__name__


def has_shape(new, old):
    """Whether an answer has every key of an answer of then, with the same types.

    It may have more keys.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and has_shape(new[key], old[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return all(any(has_shape(one, other) for one in new) for other in old)
    return new == old


def parse_answer(answer):
    status, _, body = answer.partition(" ")
    return {"status": status, "body": json.loads(body)}


def read_all(api, rows):
    """Read every row through the API; the shapes of the answers by route."""
    shapes = {}

    def read(route, path, query):
        answer = api.get(f"/api/v1/{path}", query)
        body = answer.json() if answer["Content-Type"].startswith("application") else ""
        shape = f"{answer.status_code} {json.dumps(shape_of(body))}"
        shapes.setdefault(route, set()).add(shape)

    for row in rows:
        for route in ROWS.get(row["model"], ()):
            read(route, route.format(row["pk"]), {})
        if row["model"] == "projects.project":
            for route in LISTS:
                read(route, route, {"project_id": row["pk"]})
    return {route: sorted(found) for route, found in sorted(shapes.items())}


class TestJobs:
    def test_one_of_every_kind_is_there(self, rows):
        kinds = set(Job.objects.values_list("kind", flat=True))

        assert kinds == set(BEFORE["kinds"])

    @pytest.mark.parametrize("kind", BEFORE["kinds"])
    def test_each_kind_has_its_handler_with_as_many_attempts(self, kind):
        handler = runner.HANDLERS[kind]

        assert {
            "attempts": handler.attempts,
            "lease": handler.lease.total_seconds(),
        } == BEFORE["kinds"][kind]

    @pytest.mark.parametrize("name", BEFORE["jobs"])
    def test_one_that_waits_ends_as_it_did(self, job_of, name):
        before = BEFORE["outcomes"][name]
        rows = rows_now(name, before["rows"])

        assert outcome(job_of(name)) == before | {"rows": rows}

    @pytest.mark.parametrize("name", BEFORE["begun"])
    def test_one_whose_worker_died_goes_on_from_its_cursor(self, job_of, name):
        job, half = job_of(name), BEFORE["begun"][name]
        Job.objects.filter(pk=job.pk).update(
            **half["left"],
            state=Job.State.RUNNING,
            attempts=1,
            lease_until=timezone.now() - timedelta(seconds=1),
        )

        assert outcome(job) == half["outcome"]

    def test_the_tables_of_vectors_are_in_the_order_that_cursors_count(self):
        tables = [table.vectors._meta.db_table for table in reembed.EMBEDDED_TABLES]

        # Tables of later releases come behind, so that the positions stay.
        assert tables[: len(BEFORE["shelves"])] == BEFORE["shelves"]


class TestRows:
    def test_each_is_read_with_the_same_keys_and_types(self, rows, client_of):
        answers = read_all(client_of(), BEFORE["rows"])

        for route, before in BEFORE["answers"].items():
            now = [parse_answer(answer) for answer in answers[route]]
            for then in map(parse_answer, before):
                assert any(has_shape(one, then) for one in now), (route, then)

    @pytest.mark.parametrize("name", BEFORE["acts"])
    def test_each_is_changed_as_before(self, rows, client_of, name):
        act, before = BEFORE["acts"][name], count_rows()

        answer = client_of().post(f"/api/v1/{act['path']}", act["body"])

        assert answer.status_code == act["status"], answer.content
        assert has_shape(shape_of(answer.json()), act["shape"])
        assert difference(before) == rows_now(name, act["rows"])

    def test_the_recorded_model_is_the_active_one(self, rows, settings, monkeypatch):
        monkeypatch.setattr(model_record, "_cache", None)
        settings.EMBEDDING_DIMENSIONS = 16

        assert active_model.get().name == "fake@32"


class TestMessages:
    @pytest.mark.parametrize("name", BEFORE["tasks"])
    def test_each_task_has_its_name(self, name):
        assert name in celery_app.tasks

    def test_there_is_one_of_every_task(self):
        assert set(MESSAGES) == set(BEFORE["tasks"])

    @pytest.mark.parametrize("name", MESSAGES)
    def test_one_in_the_broker_is_understood(self, name):
        message = MESSAGES[name]
        args, kwargs, _ = json.loads(base64.b64decode(message["body"]))

        assert celery_app.tasks[name].apply(args, kwargs, throw=True).successful()

    def test_the_one_that_wakes_a_worker_runs_its_job(self, rows):
        [[job_id], *_] = json.loads(
            base64.b64decode(MESSAGES["jobs.tasks.run"]["body"])
        )

        celery_app.tasks["jobs.tasks.run"].apply([job_id], throw=True)

        assert Job.objects.get(pk=job_id).state == "done"


class TestTheSchedule:
    @pytest.mark.parametrize("name", BEFORE["schedule"])
    def test_each_entry_is_there_as_it_was(self, name):
        entry = celery_app.conf.beat_schedule[name]

        assert {"options": {}, **entry} == BEFORE["schedule"][name]

    def test_the_heartbeats_keep_their_names(self, rows):
        Heartbeat.objects.all().delete()
        embed = str(BEFORE["jobs"]["embed"])

        for name in BEFORE["tasks"]:
            args = [embed] if name == "jobs.tasks.run" else []
            celery_app.tasks[name].apply(args, throw=True)

        names = set(Heartbeat.objects.values_list("name", flat=True))
        assert names >= set(BEFORE["heartbeats"])
