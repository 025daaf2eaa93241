from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from common.caller import SYSTEM
from inference.errors import InferenceError
from memories.duplicates import recheck
from memories.maintenance import text_upgrade
from projects.models import Project


class Command(BaseCommand):
    help = (
        "List memories that are marked as duplicates but would not be by today's rules. "
        "With --apply, release them; each release is in the history and in the audit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", help="the name of a project; default: all")
        parser.add_argument("--apply", action="store_true", help="release them")

    def handle(self, *args: Any, **options: Any) -> None:
        projects = Project.objects.visible_to(SYSTEM).order_by("pk")
        if options["project"]:
            projects = projects.filter(name=options["project"])
        if unfinished := text_upgrade.find_unfinished(projects):
            names = ", ".join(project.name for project in unfinished)
            raise CommandError(
                f"The job {text_upgrade.KIND} is not done in {names}: wait for it, or "
                "retry it if it failed."
            )
        try:
            self._recheck(projects, options)
        except InferenceError as error:
            raise CommandError(f"Texts cannot be compared: {error}") from error

    def _recheck(self, projects: QuerySet[Project], options: dict[str, Any]) -> None:
        found = released = 0
        for project in projects:
            for mark in recheck.find_wrong_marks(project):
                found += 1
                memory = mark.memory
                self.stdout.write(
                    f"{project.name}: {memory.pk} is hidden behind "
                    f"{memory.duplicate_of_id}: {mark.reason}"
                )
                if options["apply"]:
                    released += recheck.release(mark, SYSTEM)
        if options["apply"]:
            self.stdout.write(f"Released: {released} of {found}.")
        else:
            self.stdout.write(f"Marked wrongly: {found}. Add --apply to release them.")
