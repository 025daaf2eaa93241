"""The job that learns from a coding agent's transcript: one finished task for each prompt.

The tasks are read from the session's messages, in their order, from where the last job ended.
A task is over when the next prompt has come, when the sender said so, or when nothing came for
the project's conversation-timeout. A task has an id of its own, so that neither a killed job
nor a resumed session, which repeats the messages of another, learns from it twice.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from access.restored_caller import SenderRightsLost, caller_of, require_rights
from ace.episode import EpisodeSource
from ace.lessons import reflections, said
from ace.task.task import canonical_json
from agents.learning import episode
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.ids import named_id_at
from conversations.invocations.switch import is_memory_on
from conversations.messages.fork import to_chat
from conversations.messages.receive_transcript import KIND, job_of, learn_later
from conversations.models import Session, Transcript
from conversations.queries import read_pages
from conversations.transcripts.events import TranscriptTask, recorded_fields
from conversations.transcripts.tasks import TaskReader
from inference.language.fence import keep_ends
from jobs import errors as job_errors
from jobs import queue, runner
from jobs.models import Job
from projects.models import Project

ATTEMPTS = 8
PAGE = 200  # messages that are read at once
MAX_ENDED = 200  # transcripts of a project that one pass ends
# The limits of a finished task (docs/limits.md), in characters.
MAX_TASK, MAX_TEXT, MAX_NAME, MAX_FOLDER = 1_000_000, 20_000, 255, 4_096
# The times that the clock of a sender may tell; another time becomes the first one.
EARLIEST, MAX_SKEW = datetime(2020, 1, 1, tzinfo=UTC), timedelta(days=1)
RIVAL_WAIT = timedelta(seconds=15)
TOO_MANY_REQUESTS, SERVER_ERROR = 429, 500
GONE = {"skipped": "the transcript is gone"}
# Transcripts that were idle longer than this, while no worker ran, stay as they are.
MAX_IDLE = timedelta(days=30)


@dataclass(frozen=True)
class LearnableTask:
    """A task that is over, and the seq of its last message."""

    task: TranscriptTask
    last_seq: int


def end_idle(project: Project) -> int:
    """End the transcripts that are idle for too long; return their number."""
    idle = timedelta(minutes=project.options.agents.conversation_timeout)
    now = timezone.now()
    rows = Transcript.objects.filter(
        project_id=project.pk,
        ended_at=None,
        updated_at__lt=now - idle,
        updated_at__gt=now - MAX_IDLE,
    )
    found = list(rows.order_by("updated_at")[:MAX_ENDED])
    for transcript in found:
        _end(transcript, project)
    return len(found)


@write
def _end(transcript: Transcript, project: Project) -> None:
    """Mark the last task as over, unless a part came meanwhile."""
    same = Transcript.objects.filter(pk=transcript.pk, updated_at=transcript.updated_at)
    is_ended = same.filter(ended_at=None).update(ended_at=timezone.now())
    if is_ended and project.options.conversations.learn_from_transcripts:
        learn_later(transcript)


@runner.handler(KIND, attempts=ATTEMPTS, silence=timedelta(minutes=10), is_shared=True)
def learn_from_transcript(job: runner.JobRun) -> dict[str, Any]:
    """Report each task that is over as a finished task, in order."""
    transcript = _find_transcript(job.job.args["transcript_id"])
    if transcript is None:
        return GONE
    session, project = transcript.session, transcript.session.project
    if not project.options.conversations.learn_from_transcripts:
        return {"skipped": "conversations.learn_from_transcripts is off"}
    if not is_memory_on(project, session.user_id, session):
        # What is said meanwhile is not learned later either.
        _advance(job, transcript, transcript.last_seq)
        return {"skipped": "memory is off"}
    if _has_rival(job):
        again = timezone.now() + RIVAL_WAIT
        queue.enqueue(KIND, **job_of(transcript), run_after=again)
        return {"skipped": "another job learns from it; this one comes again"}
    caller = caller_of(transcript)
    try:
        require_rights(caller, Role.WRITER, project.pk)
    except SenderRightsLost as lost:
        raise job_errors.Permanent(str(lost)) from lost
    return _learn(job, transcript, caller)


@write
def _find_transcript(pk: str) -> Transcript | None:
    """Return a transcript, unless a purge of its session has begun, which is waited for."""
    rows = Transcript.objects.select_related("session__project")
    rows = rows.select_for_update(no_key=True, of=("session",))
    found: Transcript | None = rows.filter(pk=pk).first()
    return found


def _has_rival(job: runner.JobRun) -> bool:
    """Whether another worker learns from the transcript; tasks are learned in their order."""
    rivals = Job.objects.filter(kind=KIND, key=job.job.key, state=Job.State.RUNNING)
    alive = rivals.filter(lease_until__gt=timezone.now())
    return alive.exclude(pk=job.job.pk).exists()


def _learn(
    job: runner.JobRun, transcript: Transcript, caller: Caller
) -> dict[str, Any]:
    session = transcript.session
    learned, refused = 0, Counter[str]()
    job.step(transcript.learned_seq, transcript.last_seq)
    for found in _finished_tasks(session, transcript):
        try:
            learned += _learn_task(session, found.task, caller)
        # The next task may be learned from; the job's result says what was refused.
        except errors.Refusal as refusal:
            if _passes(refusal):
                raise
            refused[refusal.code] += 1
        if not _advance(job, transcript, found.last_seq):
            return GONE
        job.yield_turn()
    _ask_for_reflection(session, transcript)
    return {"tasks": learned, "refused": dict(refused)}


def _ask_for_reflection(session: Session, transcript: Transcript) -> None:
    """Let a model read what is new, if the session is over, compacted or long."""
    transcript.refresh_from_db(fields=["ended_at", "learned_seq", "last_seq"])
    last = transcript.last_seq if transcript.ended_at else transcript.learned_seq
    rows = session.messages.filter(seq__lte=last)
    is_compacted = rows.filter(metadata__transcript__compaction=True)
    reflections.ask_for_session(
        session,
        last,
        transcript,
        is_over=bool(transcript.ended_at) or reflections.is_new(session, is_compacted),
    )


def _passes(refusal: errors.Refusal) -> bool:
    """Whether the same task may be learned later: a lock, or too many requests."""
    return refusal.status == TOO_MANY_REQUESTS or refusal.status >= SERVER_ERROR


def _finished_tasks(
    session: Session, transcript: Transcript
) -> Iterator[LearnableTask]:
    """Yield the tasks after the last one that was learned from, without one that goes on."""
    reader = TaskReader(lambda prompt: _says_what_lasts(session, prompt))
    last_seq = transcript.learned_seq
    newer = (
        session.messages.light()
        .visible()
        .filter(seq__gt=transcript.learned_seq, seq__lte=transcript.last_seq)
    )
    for page in read_pages(newer, "seq", PAGE):
        for row in page:
            message = to_chat(row)
            # Anybody who may write can append other messages to the session.
            is_of_sender = bool(recorded_fields(message.metadata))
            if is_of_sender and (task := reader.add(message)):
                yield LearnableTask(task, last_seq)
            last_seq = row.seq
    task = reader.finish()
    if task and transcript.ended_at:
        yield LearnableTask(task, last_seq)


@write
def _advance(job: runner.JobRun, transcript: Transcript, seq: int) -> bool:
    """Store how far was learned with the job's progress, in one transaction.

    Return whether the transcript is still there.
    """
    is_there = Transcript.objects.filter(pk=transcript.pk).update(learned_seq=seq)
    job.step(seq)
    return bool(is_there)


def _learn_task(session: Session, task: TranscriptTask, caller: Caller) -> bool:
    """Report a task once; return whether it had an answered call, and so was reported.

    A prompt that only says how to work from now on is reported too.
    """
    request = _request(session, task)
    if not (request["tool_usage"] or _says_what_lasts(session, request["goal"])):
        return False
    details = {
        "source": "transcript",
        "references": task.references,
        "branch": task.branch,
        "started_at": task.started_at and task.started_at.isoformat(),
        "ended_at": task.ended_at and task.ended_at.isoformat(),
    }
    kept = {name: value for name, value in details.items() if value}
    episode.complete_once(
        session.project,
        request,
        caller,
        source=EpisodeSource(session.user_id, session.key, kept),
        run_id=_run_id(session, task),
    )
    return True


def _says_what_lasts(session: Session, prompt: str) -> bool:
    project: Project = session.project
    return said.is_in(prompt, project.options.lasting_phrases)


def _run_id(session: Session, task: TranscriptTask) -> uuid.UUID:
    """Return the id of a task's run: that of its prompt, which a resumed session repeats.

    Runs are listed by their ids, so that the id begins with the time of the prompt.
    """
    prompt = task.message_ids[0]
    name = f"transcript\n{session.project_id}\n{session.user_id}\n{prompt}"
    moment = task.started_at
    is_sane = moment is not None and EARLIEST < moment < timezone.now() + MAX_SKEW
    return named_id_at(moment if moment and is_sane else EARLIEST, name)


def _request(session: Session, task: TranscriptTask) -> dict[str, Any]:
    """Return the task as complete-task takes it, within its limits; the newest calls stay."""
    room = MAX_TASK
    calls: list[dict[str, Any]] = []
    for sent in reversed(task.tool_usage):
        if sent["result"] is None:
            continue
        call = _call(sent)
        room -= len(call["result"]) + len(canonical_json(call["arguments"]))
        if room < 0:
            break
        calls.append(call)
    request: dict[str, Any] = {
        "agent_id": session.agent_id,
        "session_id": session.key,
        "goal": keep_ends(task.goal, MAX_TEXT),
        "is_prompt": True,
        "result": keep_ends(task.result, MAX_TEXT),
        "feedback": keep_ends(task.feedback, MAX_TEXT),
        "feedback_source": "agent",
        "tool_usage": calls[::-1],
    }
    return {**request, "outcome": task.outcome} if task.outcome else request


def _call(sent: dict[str, Any]) -> dict[str, Any]:
    arguments = sent["arguments"]
    if not isinstance(arguments, dict):
        arguments = {"input": arguments}
    call = {
        "tool_name": sent["tool"][:MAX_NAME] or "tool",
        "arguments": {name: _cut(value) for name, value in arguments.items()},
        "result": _cut(sent["result"]),
        "cwd": sent["cwd"][:MAX_FOLDER],
    }
    return {**call, "status": "error"} if sent["is_error"] else call


def _cut(value: Any) -> Any:
    return keep_ends(value, MAX_TEXT) if isinstance(value, str) else value
