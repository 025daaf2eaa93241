"""Show the four tiers of memory with a conversation, with a model or without one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from textwrap import shorten
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agents.learning import invocation_job
from agents.management.demo_story import STORY, DemoInvocation
from agents.models import AgentRun
from agents.runs.agent_request import AgentRequest
from agents.runs.execute import execute
from agents.runs.start import start_run
from agents.steps import AgentStep
from common import errors
from common.caller import SYSTEM
from conversations.models import Invocation
from inference.language import fake, language_model
from jobs import runner
from jobs.models import Job
from memories.models import Memory
from projects import lifecycle
from projects.models import Project

PROJECT = "Agent demo"
MAX_WAIT = 60.0  # seconds for a worker that has taken a job before this command could
POLL = 0.2  # seconds
WIDTH = 100  # characters of a printed text


class Command(BaseCommand):
    help = (
        "Run a conversation of two users with the agent, and print what memory each question "
        "was given. Without LANGUAGE_PROVIDER the model's part is scripted."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        is_scripted = settings.LANGUAGE_PROVIDER == language_model.NONE
        self.stdout.write(
            "No language model is configured: the model's part is scripted, all else is real."
            if is_scripted
            else f"The model is {settings.LANGUAGE_MODEL}."
        )
        project = find_or_create_project()
        for invocation in STORY:
            with play_script(invocation.turns) if is_scripted else nullcontext():
                run = ask(project, invocation)
            learn(run)
            self.show(invocation, run)
        self.stdout.write(
            f"\nSee the runs in the console: project {project.name!r}, 'Agent runs'."
        )

    def show(self, invocation: DemoInvocation, run: AgentRun) -> None:
        self.stdout.write(f"\n== {invocation.about}")
        self.stdout.write(f"{invocation.user}: {invocation.question}")
        for title, texts in list_given(run):
            self.stdout.write(f"   given {title}: {len(texts)}")
            for text in texts:
                self.stdout.write(f"      - {shorten(text, WIDTH)}")
        for step in map(AgentStep.of_dict, run.steps):
            self.stdout.write(f"   {step.action} {step.arguments}")
            self.stdout.write(f"      -> {shorten(step.observation, WIDTH)}")
        said = run.answer if run.error is None else f"error: {run.error['message']}"
        self.stdout.write(f"agent: {said}")
        learned = run.learned
        self.stdout.write(
            f"   learned: invocation {'yes' if learned.get('invocation') else 'no'}, "
            f"{len(learned.get('facts', ()))} facts, "
            f"episode {'yes' if learned.get('episode') else 'no'}"
        )


def find_or_create_project() -> Project:
    found = Project.objects.live().filter(name=PROJECT).first()
    return found or lifecycle.create({"name": PROJECT}, SYSTEM)


@contextmanager
def play_script(turns: tuple[str, ...]) -> Iterator[None]:
    """Let the fake provider say these turns; afterwards there is no model again."""
    settings.LANGUAGE_PROVIDER = "fake"
    try:
        with fake.script_chat(*turns):
            yield
    finally:
        settings.LANGUAGE_PROVIDER = language_model.NONE


def ask(project: Project, invocation: DemoInvocation) -> AgentRun:
    """Run one invocation; a refusal ends the command with its sentence."""
    request = AgentRequest(
        question=invocation.question,
        user=invocation.user,
        conversation_id=invocation.conversation_id,
        enable_memory=True,
    )
    try:
        run, _ = start_run(project, request, SYSTEM)
    except errors.Refusal as refusal:
        raise CommandError(str(refusal)) from refusal
    for _ in execute(run, SYSTEM):
        pass
    return run


def learn(run: AgentRun) -> None:
    """Run the job at the end of a run here, or wait for the worker that has it."""
    jobs = Job.objects.filter(kind=invocation_job.KIND, key=str(run.pk))
    until = time.monotonic() + MAX_WAIT
    while (job := jobs.unfinished().first()) and time.monotonic() < until:
        runner.run(job.pk)
        if jobs.unfinished().exists():
            time.sleep(POLL)
    run.refresh_from_db()


def list_given(run: AgentRun) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each tier and the texts that the run was given of it."""
    given = run.memory
    for title in ("facts", "episodes"):
        rows = Memory.objects.visible_to(SYSTEM).in_bulk(given.get(title, ()))
        yield title, [row.goal or row.content for row in rows.values()]
    told = Invocation.objects.visible_to(SYSTEM).in_bulk(given.get("invocations", ()))
    yield "earlier invocations", [row.summary for row in told.values()]
