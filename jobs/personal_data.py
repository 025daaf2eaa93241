from __future__ import annotations

from django.db.models import Q, QuerySet

from common.masks import masked, tree
from common.personal_data import Holding, Part, Reach, naming, register
from jobs.models import Heartbeat, Job

KEPT = ("actor", "kind", "by", "state", "model")


def _jobs(reach: Reach) -> QuerySet[Job]:
    """Those of the project, and of all projects: they tell of any text."""
    return Job.objects.filter(Q(project_id=reach.project_id) | Q(project_id=None))


def _naming(reach: Reach) -> QuerySet[Job]:
    """Jobs that name what is purged in what they were asked, answer or remember."""
    return naming(_jobs(reach), reach.all, "args", "result", "cursor")


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
            lambda reach: _jobs(reach).exclude(error=""),
            {"error": _error},
        ),
    )
    no_text = {
        Job: dict.fromkeys(("kind", "key"), "a name of the code, or ids"),
        Heartbeat: dict.fromkeys(("name", "detail"), "names of the code and numbers"),
    }
