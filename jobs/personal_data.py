from __future__ import annotations

from django.db.models import Q, QuerySet

from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import json_redactor, redact
from common.erasure.references import rows_referencing
from common.erasure.scope import ErasureScope
from jobs.models import Heartbeat, Job

KEPT_KEYS = ("actor", "kind", "by", "state", "model")


def _jobs(erasure: ErasureScope) -> QuerySet[Job]:
    """Return the project's jobs and the jobs for all projects, which can name any row."""
    return Job.objects.filter(Q(project_id=erasure.project_id) | Q(project_id=None))


def _jobs_referencing(erasure: ErasureScope) -> QuerySet[Job]:
    """Return jobs whose arguments, result or cursor name an erased row."""
    return rows_referencing(_jobs(erasure), erasure.all_ids, "args", "result", "cursor")


def _redact_error(value: str) -> str:
    """Keep the class of the error; its message may quote any text."""
    kind, colon, message = value.partition(": ")
    if colon and kind.isidentifier():
        return f"{kind}: {redact(message)}"
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
