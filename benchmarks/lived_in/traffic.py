"""People, keys, jobs and calls: what a service notes about its own work."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User
from django.utils import timezone

from access.models import ApiKey, IdempotencyKey
from common.caller import Role
from context.models import DigestConfig
from inference.models import ModelCall
from jobs.models import Job
from projects.models import Membership, Project

SEVERAL = 10  # of what a project has few of


def write(project: Project, count: int) -> None:
    """So many jobs, calls of models and remembered requests, and some of the rest."""
    Job.objects.bulk_create(
        Job(kind="embed", project_id=project.pk, state=_state(number), total=10)
        for number in range(count)
    )
    ModelCall.objects.bulk_create(
        ModelCall(
            project_id=project.pk, purpose="reflect", model="m", outcome="answered"
        )
        for _ in range(count)
    )
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(
            actor="key", route="r", project_id=project.pk, key=str(n), body_hash="0"
        )
        for n in range(count)
    )
    for number in range(SEVERAL):
        DigestConfig.objects.create(project=project, agent_id=f"agent-{number}")


def _state(number: int) -> str:
    return (Job.State.DONE, Job.State.FAILED)[number % 10 == 0]


def keys(project: Project) -> list[ApiKey]:
    """A key of each agent."""
    made = [ApiKey.new(name=f"agent-{n}")[0] for n in range(SEVERAL)]
    for key in made:
        key.save()
        key.projects.set([project])
    return made


def person(project: Project, *, is_superuser: bool = False) -> User:
    """Somebody who owns the project, or the whole installation."""
    account = User.objects.create_user(
        f"benchmark-{uuid.uuid4().hex[:8]}",
        is_staff=True,
        is_superuser=is_superuser,
        last_login=timezone.now(),
    )
    Membership.objects.create(project=project, account=account, role=Role.OWNER)
    return account
