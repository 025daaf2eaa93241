"""The daily budget of a project for the language model, and its use so far."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from inference.errors import BudgetExceeded, Usage
from inference.models import ModelCall

MILLION = 1_000_000


@dataclass(frozen=True)
class DailyBudget:
    """The project and the run that ask, and the project's daily limits (days are UTC), if any."""

    project_id: uuid.UUID
    run_id: uuid.UUID | None = None
    tokens_per_day: int | None = None
    cost_per_day: float | None = None


def price(usage: Usage) -> Decimal:
    """Return the cost of the tokens.

    LANGUAGE_PRICE_IN and LANGUAGE_PRICE_OUT are prices for a million tokens. The cost has
    the same currency as these prices.
    """
    prompt = usage.prompt_tokens * Decimal(str(settings.LANGUAGE_PRICE_IN))
    answer = usage.answer_tokens * Decimal(str(settings.LANGUAGE_PRICE_OUT))
    return (prompt + answer) / MILLION


def refuse_over_budget(budget: DailyBudget, largest: Usage) -> None:
    """Raise BudgetExceeded if the call could exceed a daily limit of the project.

    `largest` is the most that the call can use. A call does not count other calls that are
    still running.
    """
    used = use_today(budget.project_id)
    limit, more = budget.tokens_per_day, largest.prompt_tokens + largest.answer_tokens
    if limit is not None and used.tokens + more > limit:
        raise BudgetExceeded(
            f"The project has used {used.tokens:,} of its {limit:,} tokens of today."
        )
    max_cost = budget.cost_per_day
    if max_cost is not None and used.cost + price(largest) > Decimal(str(max_cost)):
        raise BudgetExceeded(
            f"The project has spent {used.cost:.2f} of {max_cost:.2f} today."
        )


@dataclass(frozen=True)
class DailyUse:
    tokens: int
    cost: Decimal


def use_today(project_id: uuid.UUID | None = None) -> DailyUse:
    """Return the use of a project, or of the whole service, since midnight (UTC)."""
    rows = ModelCall.objects.since(_midnight())
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    sums = rows.aggregate(
        prompt=Sum("prompt_tokens", default=0),
        answer=Sum("answer_tokens", default=0),
        cost=Sum("cost", default=Decimal(0)),
    )
    return DailyUse(sums["prompt"] + sums["answer"], sums["cost"])


def seconds_left(budget: DailyBudget) -> float:
    """Return the seconds that the calls of a run have left of LANGUAGE_TIMEOUT.

    All calls of a run share one LANGUAGE_TIMEOUT, even if the run was resumed.
    """
    whole = float(settings.LANGUAGE_TIMEOUT)
    if budget.run_id is None:
        return whole
    rows = ModelCall.objects.since(timezone.now() - timedelta(days=1))
    own = rows.filter(project_id=budget.project_id, run_id=budget.run_id)
    spent = own.aggregate(ms=Sum("took_ms", default=0))["ms"]
    return whole - float(spent) / 1000


def _midnight() -> datetime:
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
