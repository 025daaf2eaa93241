"""Find the evidence of an observation about which an agent writes a lesson."""

from __future__ import annotations

import uuid

from access.restored_caller import caller_of
from ace.models import AceRun, Observation, Reflection
from ace.reflect.lesson_requests import KEY
from ace.repairs import supply
from ace.rules import evidence as spans
from ace.rules import foreign_text
from ace.rules import task as tasks
from common import errors
from common.caller import Caller, Role
from memories.models import Memory
from playbook.proposals import observed_lesson
from playbook.proposals.observed_lesson import ObservedEvidence
from playbook.proposals.proposed_change import Quote
from projects.models import Project


@observed_lesson.register
def find(
    project: Project, observation_id: uuid.UUID, text: str, caller: Caller
) -> ObservedEvidence:
    """Return what the observation shows; raise NotFound if it was not put to the caller.

    It was put to the person whose task it is of. A curator may answer it too.
    """
    readable = Memory.objects.visible_to(caller).readable().values("pk")
    rows = Observation.objects.visible_to(caller).filter(
        project=project, seen__has_key=KEY, run__memory__in=readable
    )
    found = rows.select_related("run").filter(pk=observation_id).first()
    if found is None or not _may_answer(found.run, caller):
        raise errors.NotFound(
            f"There is no observation {observation_id} in this project."
        )
    run: AceRun = found.run
    task = tasks.parse(run.request)
    quotes = tuple(Quote(**quote) for quote in found.seen[KEY]["evidence"])
    read = tuple(
        spans.make("quote", quote.field, quote.start, quote.end, quote.quote)
        for quote in quotes
    )
    outcomes = Reflection.objects.filter(run=run).values_list("outcome", flat=True)
    return ObservedEvidence(
        signature=found.signature,
        root_cause=found.root_cause,
        run_id=run.pk,
        memory_id=run.memory_id,
        outcome=outcomes.first() or "unknown",
        evidence=quotes,
        sources={quote.field: task.text(quote.field) for quote in quotes},
        foreign=foreign_text.find_origins(task).describe(task, text, read),
        supply=supply.of_lesson(task, text),
    )


def _may_answer(run: AceRun, caller: Caller) -> bool:
    is_own = bool(caller.own_names & caller_of(run).own_names)
    return is_own or caller.may(Role.CURATOR, run.project_id)
