"""What a project may use of the language model in a day, and what it has used."""

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
    """Who asks, and what the project may use in a day (UTC); None is no limit."""

    project_id: uuid.UUID
    run_id: uuid.UUID | None = None
    tokens_per_day: int | None = None
    cost_per_day: float | None = None


def price(usage: Usage) -> Decimal:
    """In the currency of LANGUAGE_PRICE_IN and LANGUAGE_PRICE_OUT, which are per million."""
    read = usage.prompt_tokens * Decimal(str(settings.LANGUAGE_PRICE_IN))
    written = usage.answer_tokens * Decimal(str(settings.LANGUAGE_PRICE_OUT))
    return (read + written) / MILLION


def refuse_over_budget(account: DailyBudget, largest: Usage) -> None:
    """Raise CapReached when the call could pass a cap of the project's day.

    `largest` is what the call uses at most. Calls that are made at the same time do
    not see each other.
    """
    used = use_today(account.project_id)
    cap, more = account.tokens_per_day, largest.prompt_tokens + largest.answer_tokens
    if cap is not None and used.tokens + more > cap:
        raise BudgetExceeded(
            f"The project has used {used.tokens:,} of its {cap:,} tokens of today."
        )
    most = account.cost_per_day
    if most is not None and used.cost + price(largest) > Decimal(str(most)):
        raise BudgetExceeded(
            f"The project has spent {used.cost:.2f} of {most:.2f} today."
        )


@dataclass(frozen=True)
class DailyUse:
    tokens: int
    cost: Decimal


def use_today(project_id: uuid.UUID | None = None) -> DailyUse:
    """What a project, or the whole service, has used since midnight (UTC)."""
    rows = ModelCall.objects.since(_midnight())
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    sums = rows.aggregate(
        read=Sum("prompt_tokens", default=0),
        written=Sum("answer_tokens", default=0),
        cost=Sum("cost", default=Decimal(0)),
    )
    return DailyUse(sums["read"] + sums["written"], sums["cost"])


def seconds_left(account: DailyBudget) -> float:
    """Of the LANGUAGE_TIMEOUT that all calls of a run have together, also if resumed."""
    whole = float(settings.LANGUAGE_TIMEOUT)
    if account.run_id is None:
        return whole
    rows = ModelCall.objects.since(timezone.now() - timedelta(days=1))
    own = rows.filter(project_id=account.project_id, run_id=account.run_id)
    spent = own.aggregate(ms=Sum("took_ms", default=0))["ms"]
    return whole - float(spent) / 1000


def _midnight() -> datetime:
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
