"""What a transcript taught: each task once, in order, when it is over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from ace import run as ace_runs
from ace.models import AceRun
from agents.learning import transcript_job
from common import errors
from common.api.problem import TooManyRequests
from common.text.memory_fence import fence
from conversations.models import Session, Transcript
from jobs import runner
from jobs.models import Job
from memories.models import Memory
from playbook.models import PlaybookDelta
from tests.conversations.transcripts.test_claude_code import WORK, call, line, result
from tests.conversations.transcripts.test_route import (
    KEY,
    MORE,
    TranscriptApi,
    raw,
    sha,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(bob_api, project):
    return TranscriptApi(bob_api, project)


def goals():
    return [run.request["goal"] for run in AceRun.objects.order_by("pk")]


def test_a_task_is_learned_when_the_next_prompt_has_come(api, run_jobs):
    api.sent(raw(WORK + MORE))

    run_jobs()

    assert goals() == ["Fix the build"]
    run = AceRun.objects.get()
    assert run.state == AceRun.RunState.DONE
    assert run.agent_id == "claude-code"
    assert run.request["session_id"] == KEY
    assert run.request["feedback"] == ""
    (step,) = run.request["tool_usage"]
    assert step["arguments"] == {"command": "make"}
    assert (step["cwd"], step["status"]) == ("/src/app", "error")


def test_the_last_task_is_learned_when_the_sender_says_that_it_is_over(api, run_jobs):
    first = api.sent(raw(WORK + MORE))
    run_jobs()

    api.sent(b"", cursor=first["cursor"], prefix=first["prefix"], final=True)
    run_jobs()

    assert goals() == ["Fix the build", "And the tests?"]


def test_the_last_task_is_learned_after_an_idle_time(api, run_jobs, project):
    api.sent(raw(WORK + MORE))
    assert transcript_job.end_idle(project) == 0
    Transcript.objects.update(updated_at=timezone.now() - timedelta(minutes=31))

    assert transcript_job.end_idle(project) == 1
    run_jobs()

    assert goals() == ["Fix the build", "And the tests?"]
    assert transcript_job.end_idle(project) == 0


def test_a_part_that_goes_on_with_the_last_task_makes_it_whole(api, run_jobs):
    first = api.sent(raw(WORK + MORE[:2]))
    run_jobs()

    whole = WORK + MORE
    api.sent(
        raw(MORE[2:]),
        cursor=first["cursor"],
        prefix=first["prefix"],
        end_prefix=sha(raw(whole)),
        final=True,
    )
    run_jobs()

    assert goals() == ["Fix the build", "And the tests?"]
    run = AceRun.objects.order_by("pk").last()
    assert run.request["tool_usage"][0]["result"] == "3 passed"


def test_the_same_transcript_twice_teaches_nothing_twice(api, run_jobs):
    api.sent(raw(WORK), final=True)
    run_jobs()
    memories = Memory.objects.count()

    api.sent(raw(WORK), final=True)
    run_jobs()
    api.sent(raw(WORK + MORE), key="resumed", final=True)
    run_jobs()

    assert goals() == ["Fix the build", "And the tests?"]
    assert Memory.objects.count() == memories + 1


def test_a_job_that_was_killed_goes_on_after_the_last_learned_task(
    api, run_jobs, monkeypatch
):
    third = [line(9, "user", "Ship it"), call(10, "c3"), result(11, "c3", "shipped")]
    api.sent(raw(WORK + MORE + third), final=True)
    complete = ace_runs.complete

    def die(project, request, *args, **kwargs):
        if request["goal"] == "Ship it":
            raise SystemExit
        return complete(project, request, *args, **kwargs)

    monkeypatch.setattr(ace_runs, "complete", die)
    job = Job.objects.get(kind="transcript")
    with pytest.raises(SystemExit):
        runner.run(job.pk)
    monkeypatch.setattr(ace_runs, "complete", complete)
    job.refresh_from_db()
    assert (job.done, job.total) == (9, 12)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(1))

    run_jobs()

    assert goals() == ["Fix the build", "And the tests?", "Ship it"]
    job.refresh_from_db()
    assert job.result == {"tasks": 1, "refused": {}}


def test_two_jobs_do_not_learn_at_once(api):
    api.sent(raw(WORK), final=True)
    first = Job.objects.get(kind="transcript")
    Job.objects.filter(pk=first.pk).update(
        state=Job.State.RUNNING, lease_until=timezone.now() + timedelta(minutes=1)
    )
    api.sent(raw(WORK + MORE))
    second = Job.objects.get(kind="transcript", state=Job.State.WAITING)

    runner.run(second.pk)

    assert not AceRun.objects.exists()
    again = Job.objects.get(kind="transcript", state=Job.State.WAITING)
    assert again.run_after > timezone.now()


def test_the_episode_knows_its_session_and_commits(api, run_jobs):
    api.sent(raw(WORK), final=True)

    run_jobs()

    memory = Memory.objects.get()
    assert memory.kind == Memory.Kind.EPISODE
    assert memory.created_in_session_id == KEY
    assert memory.metadata["references"] == ["commit:1a2b3c4"]


def test_a_bound_key_learns_in_the_scope_of_its_user(client_of, project, run_jobs):
    bound = client_of(project, role=2, user_id="ana")
    TranscriptApi(bound, project).sent(raw(WORK), final=True)

    run_jobs()

    memory = Memory.objects.get()
    assert (memory.scope_kind, memory.scope_key) == ("user", "ana")


def test_refused_calls_are_feedback_and_interrupted_tasks_unknown(api, run_jobs):
    refusal = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. "
        "To tell you how to proceed, the user said:\nUse the script."
    )
    stop = [{"type": "text", "text": "[Request interrupted by user]"}]
    lines = [*WORK[:3], result(3, "c1", refusal, is_error=True), line(4, "user", stop)]

    api.sent(raw(lines), final=True)
    run_jobs()

    request = AceRun.objects.get().request
    assert (request["feedback"], request["outcome"]) == ("Use the script.", "unknown")


def test_what_was_given_and_what_is_not_the_persons_teaches_nothing(api, run_jobs):
    given = fence("Always use tabs.")
    thought = [{"type": "thinking", "thinking": "Hm, spaces."}]
    lines = [
        line(0, "user", "Caveat: local commands", isMeta=True),
        line(1, "user", f"{given} Fix the build"),
        line(2, "assistant", thought),
        line(3, "assistant", "I ask a helper.", isSidechain=True),
        call(4, "c1", command="make"),
        result(5, "c1", f"ok {given}"),
        line(6, "assistant", "Done."),
    ]

    api.sent(raw(lines), final=True)
    run_jobs()

    request = AceRun.objects.get().request
    told = str(request)
    assert request["goal"] == "Fix the build"
    for absent in ("tabs", "spaces", "helper", "Caveat"):
        assert absent not in told


def test_a_project_may_turn_the_learning_off(api, project, run_jobs):
    project.settings = {
        **project.settings,
        "conversations": {"learn_from_transcripts": False},
    }
    project.save()

    answer = api.sent(raw(WORK), final=True)
    run_jobs()

    assert (answer["messages"], answer["job"]) == (5, None)
    assert not AceRun.objects.exists()


def test_nothing_is_learned_while_the_memory_of_the_session_is_off(
    api, session_api, run_jobs
):
    api.sent(raw(WORK), final=True)
    Session.objects.update(has_memory=False)

    run_jobs()

    assert not AceRun.objects.exists()
    assert Job.objects.get(kind="transcript").result == {"skipped": "memory is off"}
    Session.objects.update(has_memory=True)
    api.sent(raw(WORK + MORE), final=True)
    run_jobs()
    assert goals() == ["And the tests?"]


def test_a_revoked_key_teaches_nothing(api, run_jobs):
    api.sent(raw(WORK), final=True)
    api.client.key.revoked_at = timezone.now()
    api.client.key.save()

    run_jobs()

    assert not AceRun.objects.exists()
    assert Job.objects.get(kind="transcript").state == Job.State.FAILED


def test_a_long_task_keeps_its_newest_calls(api, run_jobs, monkeypatch):
    monkeypatch.setattr(transcript_job, "MAX_TASK", 100)
    lines = [line(0, "user", "Read all")]
    for n in range(1, 8, 2):
        lines += [
            call(n, f"c{n}", command=f"cat {n}"),
            result(n + 1, f"c{n}", "x" * 30),
        ]

    api.sent(raw(lines), final=True)
    run_jobs()

    steps = AceRun.objects.get().request["tool_usage"]
    assert [step["arguments"]["command"] for step in steps] == ["cat 5", "cat 7"]


def test_a_purge_of_the_session_reaches_what_was_learned(
    api, alice_api, project, run_jobs
):
    api.sent(raw(WORK), final=True)
    run_jobs()

    alice_api.post(
        "/api/v1/purge",
        {"project_id": str(project.pk), "session_id": KEY, "reason": "asked"},
        format="json",
    )
    run_jobs()

    assert "build" not in str(list(AceRun.objects.values_list("request", flat=True)))
    assert "build" not in str(list(Memory.objects.values_list("content", flat=True)))


def test_a_purge_waits_until_a_job_has_learned(api, alice_api, project):
    api.sent(raw(WORK), final=True)
    jobs = Job.objects.filter(kind="transcript")
    now = timezone.now()

    def purge(lease):
        jobs.update(state=Job.State.RUNNING, lease_until=now + timedelta(lease))
        body = {"project_id": str(project.pk), "session_id": KEY, "reason": "asked"}
        return alice_api.post("/api/v1/purge", body, format="json")

    refused = purge(lease=1)
    assert (refused.status_code, refused.json()["code"]) == (
        409,
        "transcript_unfinished",
    )
    assert Transcript.objects.exists()
    assert purge(lease=-1).status_code in (200, 202)
    assert not Transcript.objects.exists()


def test_a_job_whose_transcript_is_purged_meanwhile_ends(api, run_jobs, monkeypatch):
    api.sent(raw(WORK + MORE), final=True)
    learn = transcript_job._learn_task

    def learn_and_purge(session, task, caller):
        Transcript.objects.all().delete()
        return learn(session, task, caller)

    monkeypatch.setattr(transcript_job, "_learn_task", learn_and_purge)
    run_jobs()

    assert goals() == ["Fix the build"]
    assert Job.objects.get(kind="transcript").result == transcript_job.GONE


def test_another_persons_transcript_is_not_learned_as_ones_own(
    api, alice_api, project, run_jobs
):
    api.sent(raw(WORK))

    refused = TranscriptApi(alice_api, project).send(raw(WORK + MORE), final=True)
    run_jobs()

    assert (refused.status_code, refused.json()["code"]) == (409, "session_identity")
    assert Transcript.objects.get().session.message_count == len(WORK)
    assert not AceRun.objects.exists()


def test_what_others_append_to_the_session_teaches_nothing(
    api, alice_api, project, run_jobs
):
    api.sent(raw(WORK))
    body = {
        "project_id": str(project.pk),
        "messages": [
            {
                "role": role,
                "parts": [part],
                "metadata": {"transcript": {"format": "claude-code"}},
            }
            for role, part in (
                ("user", {"type": "text", "text": "Delete all"}),
                ("assistant", {"type": "tool_call", "id": "c9", "name": "Bash"}),
                ("tool", {"type": "tool_result", "id": "c9", "content": "gone"}),
            )
        ],
    }
    path = f"/api/v1/sessions/{KEY}/messages"
    assert alice_api.post(path, body, format="json").status_code == 200

    api.sent(raw(WORK + MORE), final=True)
    run_jobs()

    assert goals() == ["Fix the build", "And the tests?"]


@pytest.mark.parametrize("refusal", [errors.Busy, TooManyRequests])
def test_a_task_that_is_refused_for_a_while_is_learned_later(
    api, run_jobs, monkeypatch, refusal
):
    api.sent(raw(WORK), final=True)
    complete = ace_runs.complete

    def refuse(*args, **kwargs):
        raise refusal

    monkeypatch.setattr(ace_runs, "complete", refuse)
    run_jobs()
    job = Job.objects.get(kind="transcript")
    assert (job.state, Transcript.objects.get().learned_seq) == (Job.State.WAITING, 0)
    monkeypatch.setattr(ace_runs, "complete", complete)
    Job.objects.filter(pk=job.pk).update(run_after=timezone.now())
    run_jobs()

    assert goals() == ["Fix the build"]


def test_a_prompt_that_only_says_how_to_work_from_now_on_is_learned(api, run_jobs):
    said = [
        line(5, "user", "From now on, never write reports to the desktop."),
        line(6, "assistant", "I shall."),
        line(7, "user", "Thanks, that is all"),
        line(8, "assistant", "Good."),
    ]
    api.sent(raw(WORK + said), final=True)

    run_jobs()

    assert goals() == ["Fix the build", said[0]["message"]["content"]]
    [delta] = PlaybookDelta.objects.all()
    assert (delta.content, delta.status) == (
        "From now on, never write reports to the desktop.",
        "applied",  # nobody else is in the project
    )
