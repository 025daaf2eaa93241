from __future__ import annotations

from django.db.models import Q, QuerySet

from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import json_redactor, redact
from common.erasure.references import rows_referencing
from common.erasure.scope import ErasureScope
from jobs.models import Heartbeat, Job

KEPT_KEYS = ("actor", "kind", "by", "state", "model")


def _jobs(erasure: ErasureScope) -> QuerySet[Job]:
    """Those of the project, and of all projects: they tell of any text."""
    return Job.objects.filter(Q(project_id=erasure.project_id) | Q(project_id=None))


def _jobs_referencing(erasure: ErasureScope) -> QuerySet[Job]:
    """Jobs that name what is purged in what they were asked, answer or remember."""
    return rows_referencing(_jobs(erasure), erasure.all_ids, "args", "result", "cursor")


def _redact_error(value: str) -> str:
    """The kind of the error stays; what it quotes may be anybody's text."""
    kind, colon, said = value.partition(": ")
    if colon and kind.isidentifier():
        return f"{kind}: {redact(said)}"
    return redact(value)


@register
class JobErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            Job,
            _jobs_referencing,
            dict.fromkeys(("args", "result", "cursor"), json_redactor(*KEPT_KEYS)),
        ),
        ErasableColumns(
            Job,
            lambda erasure: _jobs(erasure).exclude(error=""),
            {"error": _redact_error},
        ),
    )
    no_text = {
        Job: dict.fromkeys(("kind", "key"), "a name of the code, or ids"),
        Heartbeat: dict.fromkeys(("name", "detail"), "names of the code and numbers"),
    }
