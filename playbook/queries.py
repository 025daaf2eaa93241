from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

from django.apps import apps
from django.db import models
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from common.caller import Caller
from memories.models import Memory
from projects.models import Project
from search.columns import SEARCH_COLUMNS, search_columns_of

M = TypeVar("M", bound=models.Model)
# The order of the inbox. The index `delta_inbox` has these expressions. Quarantined
# deltas come last.
RISK_RANK = models.Case(
    models.When(risk="high", then=0),
    models.When(risk="medium", then=1),
    models.When(risk="low", then=2),
    default=3,
    output_field=models.SmallIntegerField(),
)
QUOTE_COUNT = models.Func(
    "evidence", function="jsonb_array_length", output_field=models.IntegerField()
)
WAITING_STATUSES = ["pending", "stale"]
RETIRED = ["deprecated", "deleted"]
# What becomes of a lesson: a new rule, new words of one or of several, or a vote for one
# that says it.
STATES_LESSON = ["add", "update", "merge", "vote"]
UNDECIDED = models.Q(status__in=WAITING_STATUSES)
# Sources of feedback other than the agent itself.
TRUSTED_SOURCES = ["test", "environment", "human"]
# A proposal that puts an entry in doubt, by evidence of a key that may attest.
CASTS_DOUBT = models.Q(payload__has_key="doubt")
# Rejections without those that only repeat an earlier rejection. The earlier one counts
# its repeats.
REFUSED_ONCE = models.Q(status="rejected") & ~models.Q(payload__has_key="repeats")
# A person, and not a gate, refused it.
REFUSED_BY_PERSON = models.Q(status="rejected") & ~models.Q(reviewer="")
# A duplicate is refused because a rule says the same: the lesson itself is wanted.
_DUPLICATE = models.Q(payload__contains={"reason_code": "duplicate"})
# A person refused the lesson, its change was undone, or its rule is retired.
_WITHDRAWN = (
    (REFUSED_BY_PERSON & ~_DUPLICATE)
    | models.Q(status="reverted")
    | models.Q(entry__status__in=RETIRED)
)
# Changes that set only counters and supports.
USE_CHANGES = models.Q(action__in=["vote", "support"])


class ProjectScopedQuerySet(models.QuerySet[M]):
    """Rows that are visible to everybody who may see their project."""

    def visible_to(self, caller: Caller) -> Self:
        return self.filter(project_id__in=Project.objects.visible_to(caller))


class ExposureQuerySet(ProjectScopedQuerySet[Any]):
    def given(self) -> Self:
        """Leave out what was withheld, which nobody was given."""
        return self.filter(is_withheld=False)


class EntryQuerySet(ProjectScopedQuerySet[Any]):
    def current(self) -> Self:
        return self.filter(status="active")

    def inactive(self) -> Self:
        """Deprecated and deleted entries, without superseded entries."""
        return self.filter(status__in=RETIRED)

    def light(self) -> Self:
        """Defer the columns that only search reads."""
        return self.defer(*SEARCH_COLUMNS)


class MemoryScopedQuerySet(ProjectScopedQuerySet[M]):
    """Rows that come from a memory, which `memory_field` names, or from none."""

    memory_field: ClassVar = "memory_id"

    def visible_to(self, caller: Caller) -> Self:
        """For a bound user, hide rows that come from other users' private memories."""
        rows = super().visible_to(caller)
        if not caller.user_id:
            return rows
        visible = Memory.objects.visible_to(caller).values("pk")
        return rows.filter(
            models.Q(**{self.memory_field: None})
            | models.Q(**{f"{self.memory_field}__in": visible})
        )


class DeltaQuerySet(MemoryScopedQuerySet[Any]):
    def pending(self) -> Self:
        return self.filter(status="pending")

    def casting_doubt(self) -> Self:
        """Waiting deltas that put their entries in doubt."""
        return self.pending().filter(CASTS_DOUBT)

    def awaiting_decision(self) -> Self:
        """Pending deltas and stale deltas.

        A stale delta is renewed when a person decides about it.
        """
        return self.filter(UNDECIDED)

    def of_withdrawn_lessons(self) -> Self:
        """Lessons that people do not want to be followed, and those that only repeat them.

        What a live rule states word for word is wanted, whatever was decided before.
        """
        repeated = self.model.objects.filter(
            _WITHDRAWN,
            pk=Cast(
                KeyTextTransform("repeats", models.OuterRef("payload")),
                models.UUIDField(),
            ),
        )
        live = apps.get_model("playbook", "PlaybookEntry").objects.filter(
            project_id=models.OuterRef("project_id"),
            similarity_hash=models.OuterRef("similarity_hash"),
            status="active",
        )
        return self.filter(
            _WITHDRAWN | models.Q(models.Exists(repeated), status="rejected"),
            ~models.Exists(live),
            operation__in=STATES_LESSON,
        )

    def serving(self, caller: Caller) -> Self:
        """Waiting lessons that the agents of the caller's person are given."""
        own = models.Q(served_persons__overlap=list(caller.own_names))
        return self.visible_to(caller).pending().filter(own)

    def first_rejections(self) -> Self:
        return self.filter(REFUSED_ONCE)

    def riskiest_first(self) -> Self:
        """Order by risk, then by number of quotes, then by age with the oldest delta first."""
        return self.order_by(RISK_RANK, QUOTE_COUNT.desc(), "pk")

    def with_entry(self) -> Self:
        """Select the entry and the project without the columns that only search reads."""
        search_columns = search_columns_of("entry")
        return self.select_related("project", "entry").defer(*search_columns)


class PlaybookChangeQuerySet(ProjectScopedQuerySet[Any]):
    def without_use(self) -> Self:
        """Changes that are not votes or supports.

        An old entry has thousands of votes and supports.
        """
        return self.exclude(USE_CHANGES)

    def never_reverted(self) -> Self:
        """Changes that are no reverts and were never reverted.

        All of these changes are in force.
        """
        reverts = self.model.objects.filter(
            project_id=models.OuterRef("project_id"), reverts_id=models.OuterRef("pk")
        )
        return self.filter(~models.Exists(reverts), reverts_id=None)

    def in_order(self) -> Self:
        return self.order_by("revision", "position")
