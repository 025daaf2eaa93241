"""The first steps in a project, and which of them are done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from access.models import ApiKey
from ace.models import AceRun
from common.caller import Caller
from playbook.models import Exposure
from projects.models import Project

Source = Exposure.ExposureSource
# A project shows its first steps for this long, and as long as it is empty.
SHOWN = timedelta(days=7)


@dataclass(frozen=True)
class FirstSteps:
    """Whether a key was issued, a person said something of a task, and a rule was given."""

    has_key: bool
    has_feedback: bool
    has_given: bool

    @property
    def are_done(self) -> bool:
        return self.has_key and self.has_feedback and self.has_given


def is_young(project: Project) -> bool:
    return project.created_at > timezone.now() - SHOWN


def find(project: Project, caller: Caller) -> FirstSteps:
    """Read the state of the steps in one query.

    Who may not see the keys of the project knows from a task that there is one.
    """
    theirs = {"project_id": OuterRef("pk")}
    keys = ApiKey.objects.visible_to(caller).usable()
    of_project = keys.filter(Q(everywhere=True) | Q(projects=OuterRef("pk")))
    runs = AceRun.objects.visible_to(caller).filter(**theirs)
    # What `ace.feedback_source` does not believe to be a person's has `counted_as`.
    by_person = runs.filter(request__feedback_source="human", request__feedback__gt="")
    feedback = by_person.exclude(request__has_key="counted_as")
    given = Exposure.objects.visible_to(caller).filter(
        **theirs, source__in=[Source.CONTEXT, Source.RENDER]
    )
    rows = Project.objects.visible_to(caller).filter(pk=project.pk)
    has_key, has_run, has_feedback, has_given = rows.values_list(
        Exists(of_project), Exists(runs), Exists(feedback), Exists(given)
    ).get()
    return FirstSteps(has_key or has_run, has_feedback, has_given)
