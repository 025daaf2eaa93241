"""Read what happened in the sessions to which rules were given, or from which one was withheld."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Func, IntegerField, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from ace.models import Reflection
from common.caller import Caller
from console.insights import effect
from console.insights.effect import Effect, SessionOutcome
from conversations.models import Session
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import withholding
from projects.models import Project

SINCE = timedelta(
    days=90
)  # as long as exposures are kept that no task is credited with
MAX_ROWS = (
    20_000  # the newest exposures, and the newest tasks and sessions, that are read
)
MEASURES = ("failures", "corrections", "tokens")
ALL = "all rules"


@dataclass(frozen=True)
class CountedEffect:
    """What rules of one kind changed in what was counted a session."""

    kind: str
    measure: str
    effect: Effect


def count(project: Project, caller: Caller) -> list[CountedEffect]:
    """Return the effects for all rules, and for those of each category.

    Only rules that may be withheld are compared, and only since the first one was.
    """
    since = timezone.now() - SINCE
    rows = Exposure.objects.visible_to(caller).filter(project=project, at__gte=since)
    exposed = rows.exclude(session="").order_by("-at")
    first = exposed.filter(is_withheld=True).order_by("at").values("at")[:1]
    entries = PlaybookEntry.objects.visible_to(caller)
    learned = entries.filter(withholding.MAY_BE_WITHHELD)
    exposed = exposed.filter(
        at__gte=Coalesce(Subquery(first), since), entry__in=learned
    )
    columns = ("entry_id", "entry__category", "session", "is_withheld")
    pairs = set(exposed.values_list(*columns)[:MAX_ROWS])
    arms: defaultdict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for _, category, session, is_withheld in pairs:
        for kind in (ALL, category):
            arms[kind][session, is_withheld] += 1
    values = dict(_values(project, caller))
    kinds = [ALL, *sorted(kind for kind in arms if kind != ALL)]
    return [
        CountedEffect(kind, measure, effect.estimate(_outcomes(arms[kind], counted)))
        for kind in kinds
        for measure in MEASURES
        if (counted := values[measure])
    ]


def _outcomes(
    arms: Counter[tuple[str, bool]], counted: Mapping[str, float]
) -> list[SessionOutcome]:
    sessions = sorted({session for session, _ in arms} & counted.keys())
    return [
        SessionOutcome(counted[each], arms[each, False], arms[each, True])
        for each in sessions
    ]


def _values(
    project: Project, caller: Caller
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield what was counted, by the digest of each session with finished tasks."""
    since = timezone.now() - SINCE
    tasks = Reflection.objects.visible_to(caller).filter(
        project=project, created_at__gte=since, run__request__session_id__gt=""
    )
    by_person = Q(run__request__feedback_source="human") & ~Q(
        run__request__has_key="counted_as"
    )
    columns = tasks.annotate(
        failed=Func(
            "errors", function="jsonb_array_length", output_field=IntegerField()
        ),
        is_corrected=by_person & Q(outcome__in=["failure", "partial"]),
    ).order_by("-pk")
    failures: Counter[str] = Counter()
    corrections: Counter[str] = Counter()
    for name, failed, is_corrected in columns.values_list(
        "run__request__session_id", "failed", "is_corrected"
    )[:MAX_ROWS]:
        session = withholding.digest_of(str(name))
        failures[session] += failed
        corrections[session] += bool(is_corrected)
    yield "failures", failures
    yield "corrections", corrections
    sessions = Session.objects.visible_to(caller).filter(
        project=project, last_active__gte=since, token_count__gt=0
    )
    sizes = sessions.order_by("-pk").values_list("key", "token_count")[:MAX_ROWS]
    yield "tokens", {withholding.digest_of(key): size for key, size in sizes}
