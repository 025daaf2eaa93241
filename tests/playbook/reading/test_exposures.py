from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from ace import run as runs
from ace.models import AceRun
from common.caller import Caller, Role
from memories.read.exposures import CREDIT_WINDOW
from playbook.history import replay
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import exposures, renderer
from playbook.tasks import forget_exposures

RENDER = "/api/v1/playbook/render"
TASK = "import the products of the new supplier"


@pytest.fixture
def agent(client_of, project):
    """A writer's key that several agents may share."""
    return client_of(project, role=Role.WRITER)


@pytest.fixture
def render(agent, project):
    def get(api=agent, **query):
        answer = api.get(RENDER, {"project_id": project.pk} | query)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return get


@pytest.fixture
def complete(agent, project):
    def post(api=agent, **fields):
        body = {"project_id": str(project.pk), "goal": TASK, "result": "Imported."}
        answer = api.post("/api/v1/complete-task", body | fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()["run_id"]

    return post


@pytest.fixture
def detail(alice_api):
    def get(entry):
        return alice_api.get(f"/api/v1/playbook/rules/{entry.pk}").json()

    return get


class TestRecording:
    def test_the_entries_of_a_key_are_recorded_with_their_relevance(
        self, render, write, agent
    ):
        entry = write(TASK)
        write("Paint every harbour green.")

        render(task=TASK, agent_id="agent-7")

        rows = Exposure.objects.all()
        [kept] = rows.filter(entry=entry)
        assert rows.count() == 2
        assert (kept.source, kept.agent_id) == ("render", "agent-7")
        assert (kept.key_id, kept.run_id) == (agent.key.pk, None)
        assert kept.relevance > 0.9

    def test_entries_outside_the_budget_are_not_recorded(self, render, write):
        write("Run the linter.")
        write("Keep the lock file up to date in every single branch.")

        render(token_budget=10)

        assert Exposure.objects.count() == 1

    def test_a_viewers_read_records(self, client_of, project, render, write):
        write()
        render(api=client_of(project, role=Role.VIEWER))

        assert Exposure.objects.count() == 1

    def test_a_person_who_looks_is_no_agent(self, project, alice, write):
        write()
        renderer.render_for_agent(project, alice)

        assert not Exposure.objects.exists()

    def test_it_takes_one_insert(
        self, project, write, client_of, django_assert_num_queries
    ):
        given = dict.fromkeys([write(f"Run step {n}.").pk for n in range(5)])
        caller = Caller(
            name="k", roles={project.pk: Role.VIEWER}, key_id=client_of().key.pk
        )

        with django_assert_num_queries(1):
            exposures.record(
                project, given, caller, source=Exposure.ExposureSource.RENDER
            )

        assert Exposure.objects.count() == 5

    def test_task_context_records_what_it_gave(self, agent, project, write):
        entry = write(TASK)
        body = {"project_id": str(project.pk), "task_description": TASK}

        agent.post("/api/v1/context", body)

        [kept] = Exposure.objects.all()
        assert (kept.entry_id, kept.source) == (entry.pk, "context")


class TestCredit:
    def test_a_finished_task_is_credited_with_the_exposures_of_its_agent(
        self, render, complete, write
    ):
        cited, other = write(TASK), write("Paint every harbour green.")
        render(agent_id="agent-7")

        run = complete(agent_id="agent-7", cited_entry_ids=[cited.label])

        rows = {row.entry_id: row for row in Exposure.objects.all()}
        assert {str(row.run_id) for row in rows.values()} == {run}
        assert rows[cited.pk].was_cited
        assert not rows[other.pk].was_cited
        assert {row.source for row in rows.values()} == {"render"}

    def test_it_says_how_the_task_used_each_entry(self, render, complete, write):
        cited = write("Ask before you delete anything.")
        of_command = write("Run `make lint` before you push.")
        of_tool = write("Pass the id as a number.", applies_to=["tool:get_order"])
        of_file = write("Keep src/auth.py free of globals.")
        unused = write("Paint every harbour green.")
        render()

        complete(
            cited_entry_ids=[cited.label],
            tool_usage=[
                {
                    "tool_name": "Bash",
                    "arguments": {"command": "cd app && make lint"},
                    "result": "ok",
                },
                {"tool_name": "get_order", "arguments": {"id": 7}, "result": "7"},
                {
                    "tool_name": "Edit",
                    "arguments": {"file_path": "src/auth.py", "old_string": "a"},
                    "result": "ok",
                },
            ],
        )

        assert dict(Exposure.objects.values_list("entry_id", "used_as")) == {
            cited.pk: "cited",
            of_command.pk: "command",
            of_tool.pk: "command",
            of_file.pk: "file",
            unused.pk: "",
        }
        assert exposures.count_use(of_file).times_used == 1
        assert all(Exposure.objects.values_list("request_id", flat=True))

    def test_an_entry_that_only_the_agent_names_is_recorded_as_reported(
        self, complete, write
    ):
        cited, injected = write(TASK), write("Paint every harbour green.")

        run = complete(cited_entry_ids=[cited.label], injected_entry_ids=[injected.pk])

        rows = Exposure.objects.filter(run_id=run, source="reported")
        assert {(row.entry_id, row.was_cited) for row in rows} == {
            (cited.pk, True),
            (injected.pk, False),
        }

    def test_two_exposures_of_an_entry_count_once(self, render, complete, write):
        write()
        render()
        render()

        run = complete()

        assert [str(row.run_id) for row in Exposure.objects.all()] == [run]

    def test_the_next_task_is_not_credited_again(self, render, complete, write):
        write()
        render()
        first = complete()
        complete(goal="Something else entirely")

        assert [str(row.run_id) for row in Exposure.objects.all()] == [first]

    def test_another_agent_or_key_is_not_credited(
        self, render, complete, write, client_of, project
    ):
        write()
        render(agent_id="agent-7")
        complete(agent_id="agent-8")
        complete(api=client_of(project, role=Role.WRITER), agent_id="agent-7")

        assert Exposure.objects.get().run_id is None

    def test_exposures_older_than_a_day_are_not_credited(self, render, complete, write):
        write()
        render()
        past = timezone.now() - CREDIT_WINDOW - timedelta(minutes=1)
        Exposure.objects.update(at=past)

        complete()

        assert Exposure.objects.get().run_id is None

    def test_exposure_alone_moves_no_counter_and_is_outside_replay(
        self, render, complete, write, project
    ):
        entry = write()
        render()
        complete(outcome="success")

        entry.refresh_from_db()
        assert (entry.helpful, entry.harmful, entry.neutral) == (0, 0, 0)
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_a_resumed_run_credits_once(
        self, render, complete, write, agent, monkeypatch
    ):
        entry = write()
        render()
        run = complete(cited_entry_ids=[entry.label])
        held = AceRun.objects.get(pk=run)
        # As if the process had died before the reflector was noted.
        held.phases.pop("reflector")
        held.state = "running"
        held.save()
        render()

        runs.advance(held, runs.caller_of(held))

        rows = Exposure.objects.order_by("pk")
        assert [(str(r.run_id), r.was_cited) for r in rows] == [
            (run, True),
            ("None", False),
        ]

    def test_entries_of_other_projects_are_skipped(
        self, complete, other_project, charlie_api
    ):
        made = charlie_api.post(
            "/api/v1/playbook/rules",
            {"project_id": str(other_project.pk), "content": "Charlie's own rule."},
        ).json()

        complete(cited_entry_ids=[made["entry"]["id"]])

        assert not Exposure.objects.exists()


class TestUse:
    def test_an_entry_tells_how_it_was_used(self, render, complete, write, detail):
        entry = write()
        assert detail(entry)["use"] == {
            "times_given": 0,
            "times_cited": 0,
            "times_used": 0,
            "last_given_at": None,
            "last_cited_at": None,
        }
        render()
        complete(cited_entry_ids=[entry.label])
        render()

        use = detail(entry)["use"]

        assert (use["times_given"], use["times_cited"]) == (2, 1)
        assert use["times_used"] == 1
        assert use["last_given_at"] > use["last_cited_at"]


class TestRetention:
    def test_what_no_task_was_credited_with_ends_after_its_time(
        self, project, write, client_of
    ):
        entry = write()
        long_ago = timezone.now() - exposures.RETENTION - timedelta(hours=1)
        for run_id in (None, entry.pk):
            Exposure.objects.create(project=project, entry=entry, run_id=run_id)
        Exposure.objects.update(at=long_ago)
        Exposure.objects.create(project=project, entry=entry)

        forget_exposures()

        assert Exposure.objects.count() == 2
        assert Exposure.objects.filter(at=long_ago).get().run_id is not None
        assert PlaybookEntry.objects.filter(pk=entry.pk).exists()
