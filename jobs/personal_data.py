from __future__ import annotations

from django.db.models import QuerySet

from common.masks import masked, tree
from common.personal_data import Holding, Part, Reach, naming, register
from jobs.models import Heartbeat, Job

KEPT = ("actor", "kind", "by", "state")


def _naming(reach: Reach) -> QuerySet[Job]:
    """Jobs that name what is purged in what they were asked, answer or remember."""
    jobs = Job.objects.filter(project_id=reach.project_id)
    return naming(jobs, reach.all, "args", "result", "cursor")


def _error(value: str) -> str:
    """The kind of the error stays; what it quotes may be anybody's text."""
    kind, colon, said = value.partition(": ")
    if colon and kind.isidentifier():
        return f"{kind}: {masked(said)}"
    return masked(value)


@register
class JobData(Part):
    holdings = (
        Holding(Job, _naming, dict.fromkeys(("args", "result", "cursor"), tree(*KEPT))),
        Holding(
            Job,
            lambda reach: Job.objects.filter(project_id=reach.project_id).exclude(
                error=""
            ),
            {"error": _error},
        ),
    )
    no_text = {
        Job: dict.fromkeys(("kind", "key"), "a name of the code, or ids"),
        Heartbeat: dict.fromkeys(("name", "detail"), "names of the code and numbers"),
    }
