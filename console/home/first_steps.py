"""The first steps in a project, and which of them are done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from access.models import ApiKey
from ace.models import AceRun
from common.caller import Caller
from mcp_server.models import HookCount, Push
from playbook.models import Exposure
from projects.models import Project

Source = Exposure.ExposureSource
# What a hook gives that was learned from earlier work.
LEARNED = (Push.PushKind.RULE, Push.PushKind.MEMORY, Push.PushKind.FIX)
# A project shows its first steps for this long, and as long as it is empty.
SHOWN = timedelta(days=7)


@dataclass(frozen=True)
class FirstSteps:
    """What was done in a project already.

    `has_hooks` says that a coding agent is connected: its hooks have sent events. Then its
    sessions are the steps, and nobody has to send requests.
    """

    has_key: bool = False
    has_hooks: bool = False
    has_task: bool = False
    has_feedback: bool = False
    has_given: bool = False

    @property
    def are_done(self) -> bool:
        is_taught = self.has_task if self.has_hooks else self.has_feedback
        return self.has_key and is_taught and self.has_given


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
    given = (
        Exposure.objects.visible_to(caller)
        .given()
        .filter(**theirs, source__in=[Source.CONTEXT, Source.RENDER])
    )
    events = HookCount.objects.visible_to(caller).filter(**theirs)
    pushes = Push.objects.visible_to(caller).filter(**theirs, kind__in=LEARNED)
    rows = Project.objects.visible_to(caller).filter(pk=project.pk)
    has_key, has_hooks, has_task, has_feedback, has_given, has_pushed = (
        rows.values_list(
            *(Exists(of_project), Exists(events), Exists(runs), Exists(feedback)),
            *(Exists(given), Exists(pushes)),
        ).get()
    )
    return FirstSteps(
        has_key=has_key or has_hooks or has_task,
        has_hooks=has_hooks,
        has_task=has_task,
        has_feedback=has_feedback,
        has_given=has_given or has_pushed,
    )
