"""Print what a language model reads of a session or of a run: `manage.py record SESSION`."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ace.lessons import question as questions
from ace.models import AceRun, ModelReflection
from conversations.models import Session
from projects.models import Project


class Command(BaseCommand):
    help = "Print the record of a session or a run, and the prompt about it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="key or id of a session, or id of a run")
        parser.add_argument("--project", help="name of the project")
        parser.add_argument(
            "--record", action="store_true", help="print the record without the prompt"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        row = _find(options["name"], options["project"])
        if options["record"]:
            for part in questions.read_parts(row):
                self.stdout.write(part.text)
            return
        question = questions.build(row)
        if question is None:
            raise CommandError("There is nothing to read: no words and no calls.")
        self.stdout.write(f"{question.prompt.text}\n{question.text}")


def _find(name: str, project: str | None) -> ModelReflection:
    """Return a reflection on everything of the session or the run; it is not stored."""
    projects = (
        Project.objects.filter(name=project) if project else Project.objects.all()
    )
    sessions = Session.objects.filter(project__in=projects, key=name)
    if pk := _read_id(name):
        sessions = sessions | Session.objects.filter(project__in=projects, pk=pk)
        run = AceRun.objects.filter(project__in=projects, pk=pk).first()
        if run:
            return ModelReflection(project=run.project, run=run, agent_id=run.agent_id)
    found = list(sessions.select_related("project")[:2])
    if len(found) != 1:
        many = "several sessions" if found else "no session and no run"
        raise CommandError(f"There is {many} {name!r}; name its id, or --project.")
    session = found[0]
    return ModelReflection(
        project=session.project,
        session=session,
        first_seq=1,
        last_seq=session.last_seq,
        agent_id=session.agent_id,
    )


def _read_id(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None
