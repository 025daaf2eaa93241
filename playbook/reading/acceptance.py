"""Tell the rules that a person accepted from those that were applied without one."""

from __future__ import annotations

from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)

from playbook.models import PlaybookDelta, PlaybookEntry

Status, Operation = PlaybookDelta.DeltaStatus, PlaybookDelta.DeltaOperation
_WRITES_TEXT = Q(operation__in=(Operation.ADD, Operation.UPDATE, Operation.MERGE))
# What a person said of a task, as a key reported it that may speak for a person.
_SAID = Q(payload__feedback_source="human", evidence__contains=[{"field": "feedback"}])
_OF_PERSON = (
    Q(status__in=(Status.ACCEPTED, Status.EDITED))
    | Q(producer=PlaybookDelta.Producer.HUMAN)
    | _SAID
)


def of_person() -> Case:
    """Whether a person wrote, said, accepted, edited or confirmed the present words."""
    return Case(
        When(author_kind=PlaybookEntry.Author.HUMAN, then=True),
        When(verified_at__gte=F("updated_at"), then=True),
        When(Q(Subquery(_newest_words())), then=True),
        default=False,
        output_field=BooleanField(),
    )


def _newest_words() -> QuerySet[PlaybookDelta, Any]:
    """Select of the newest change of the outer entry's words whether a person decided it."""
    changes = PlaybookDelta.objects.filter(
        Q(operation=Operation.RESTORE) | _WRITES_TEXT & Q(content__gt=""),
        entry=OuterRef("pk"),
        status__in=PlaybookDelta.IN_FORCE,
    )
    is_of_person = Case(
        When(_OF_PERSON, then=True), default=False, output_field=BooleanField()
    )
    return changes.order_by("-pk").values_list(is_of_person)[:1]
