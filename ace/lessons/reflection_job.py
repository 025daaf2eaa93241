"""The job that asks the server's language model about a session or a finished task."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from access.restored_caller import SenderRightsLost, caller_of, require_rights
from ace.lessons import question as questions
from ace.lessons import reflections
from ace.lessons.question import Question
from ace.models import ModelReflection
from common.caller import Role
from inference.errors import InferenceError
from inference.language import client
from jobs import errors as job_errors
from jobs import runner
from projects import model_access

ATTEMPTS = 8


@runner.handler(
    reflections.KIND,
    attempts=ATTEMPTS,
    silence=timedelta(minutes=10),
    is_shared=True,
)
def reflect(job: runner.JobRun) -> dict[str, Any]:
    """Read the record part by part; an outage postpones it, and nothing is skipped."""
    rows = ModelReflection.objects.select_related("project", "session", "run")
    row = rows.filter(pk=job.job.args["reflection_id"]).first()
    if row is None or row.state == ModelReflection.ReflectionState.DONE:
        return {"skipped": "the reflection is gone, or done"}
    if not model_access.is_enabled(row.project):
        return {"skipped": "there is no language model"}
    try:
        require_rights(caller_of(row), Role.WRITER, row.project_id)
    except SenderRightsLost as lost:
        raise job_errors.Permanent(str(lost)) from lost
    holder = f"job:{job.job.pk}"
    if not reflections.lease(row, holder):
        raise job_errors.Busy("Somebody else reads this record.")
    try:
        return _read(job, row, holder)
    except InferenceError as error:
        reflections.release(row)
        raise job_errors.Later(error.detail) from error


def _read(job: runner.JobRun, row: ModelReflection, holder: str) -> dict[str, Any]:
    while question := reflections.question_for(row):
        job.step(row.parts_done, question.part.of)
        if row.answer is not None:  # stored by an attempt that was killed
            reflections.take_in(row, question)
            continue
        value, model = _ask(row, question)
        reflections.answer(row, question.part.number, value, model=model, holder=holder)
        job.yield_turn()
    reflections.close(row)
    return {"parts": row.parts_done}


def _ask(row: ModelReflection, question: Question) -> tuple[dict[str, Any], str]:
    found = client.ask(
        client.Question(
            questions.PURPOSE,
            question.prompt.version,
            question.prompt.text,
            question.text,
            questions.MAX_TOKENS,
        ),
        question.shape,
        model_access.account_for(row.project, row.pk),
    )
    return found.value.model_dump(), found.model
