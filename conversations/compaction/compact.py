"""Compact a session: passes until nothing changes, or at most one of each kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from common import errors, locks
from common.caller import Caller
from conversations.compaction import context
from conversations.compaction.passes import run_condensed_pass, run_leaf_pass
from conversations.models import AgentMemoryChange, Session, Summary
from conversations.sessions.lookup import not_found_error
from conversations.sessions.record import add_change
from conversations.summarizers import Summarizer

MIN_PASSES = 100  # passes that a full compaction may always do


class CompactionMode(Enum):
    """How much one compaction does; its string is its name in the API."""

    INCREMENTAL = "incremental"
    FULL = "full"

    def __str__(self) -> str:
        return self.value


class CompactionRunning(errors.StateConflict):
    """Another compaction of this session is running; try again when it has ended."""

    code = "compaction_running"


@dataclass
class CompactionResult:
    """What a compaction did (seed 002)."""

    leaf_summaries_created: int = 0
    condensed_summaries_created: int = 0
    messages_compacted: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    duration_ms: int = 0

    @property
    def passes(self) -> int:
        return self.leaf_summaries_created + self.condensed_summaries_created

    def count(self, summary: Summary) -> None:
        """Count what one pass wrote."""
        if summary.kind == Summary.SummaryKind.LEAF:
            self.leaf_summaries_created += 1
            self.messages_compacted += summary.message_count
        else:
            self.condensed_summaries_created += 1


IsEnough = Callable[[int], bool]


def compact(
    session: Session,
    summarizer: Summarizer,
    mode: CompactionMode,
    caller: Caller,
    *,
    is_enough: IsEnough = lambda tokens: False,
    step: Callable[[], None] = lambda: None,
) -> CompactionResult:
    """Compact a session; `is_enough` of the context's tokens ends a compaction early.

    `step` is called after each pass. An error of the summarizer ends the compaction; the
    passes before it stay. Refuse with 409 if the session is being compacted already.
    """
    with locks.try_advisory_lock(f"compact session:{session.pk}") as is_mine:
        if not is_mine:
            raise CompactionRunning
        started = time.perf_counter()
        result = CompactionResult(tokens_before=_tokens(session))
        try:
            _run_passes(session, summarizer, mode, result, is_enough, step)
        finally:
            result.tokens_after = _tokens(session)
            result.duration_ms = round((time.perf_counter() - started) * 1000)
            if result.passes:
                _record(session, result, caller)
    return result


def _run_passes(
    session: Session,
    summarizer: Summarizer,
    mode: CompactionMode,
    result: CompactionResult,
    is_enough: IsEnough,
    step: Callable[[], None],
) -> None:
    """Run leaf passes before condensed ones, so that the finest summaries are kept longest."""

    def run_leaf() -> Summary | None:
        tail_start = context.find_tail_start(session)
        return run_leaf_pass(session, summarizer, tail_start)

    def run_condensed() -> Summary | None:
        return run_condensed_pass(session, summarizer)

    is_full = mode is CompactionMode.FULL
    most = max(MIN_PASSES, 2 * session.message_count) if is_full else 1
    for run_pass in (run_leaf, run_condensed):
        for _ in range(most):
            if is_enough(_tokens(session)):
                return
            summary = run_pass()
            if summary is None:
                break
            result.count(summary)
            step()


def _tokens(session: Session) -> int:
    """Return the tokens of the context; refuse with 404 if the session was purged."""
    rows = Session.objects.filter(pk=session.pk).values_list(
        "context_tokens", flat=True
    )
    tokens: int | None = rows.first()
    if tokens is None:
        raise not_found_error(session.key)
    return tokens


def _record(session: Session, result: CompactionResult, caller: Caller) -> None:
    """Add one row to the changelog; a compaction raises no version."""
    add_change(
        session,
        session,
        caller,
        scope=AgentMemoryChange.ChangeScope.COMPACTION,
        action=AgentMemoryChange.ChangeAction.COMPACT,
        source=AgentMemoryChange.ChangeSource.SYSTEM,
        after_text=_describe(result),
    )


def _describe(result: CompactionResult) -> str:
    counts: dict[str, Any] = asdict(result)
    return ", ".join(f"{name}: {count}" for name, count in counts.items())
