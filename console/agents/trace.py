"""Render a run as a trace: its steps, what memory it was given, and what it taught."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from agents.models import AgentRun
from common.admin import panels
from common.admin.panels import Panel, row_link, short_text
from common.caller import Caller
from conversations.models import Invocation
from memories.models import Memory
from playbook.models import PlaybookEntry

MAX_TEXT = 6_000  # characters of an observation
MOST_GIVEN = 50  # rows of a tier


@dataclass(frozen=True)
class StepView:
    """A step as the page shows it."""

    number: int
    thought: SafeString
    action: SafeString
    arguments: SafeString
    observation: SafeString
    is_error: bool
    is_history: bool
    took: str


def view_steps(run: AgentRun) -> list[StepView]:
    return [
        StepView(
            number=number,
            thought=panels.text_block(step["thought"], MAX_TEXT),
            action=short_text(step["action"], panels.SHORT_LIMIT),
            arguments=panels.text_block(
                json.dumps(step["arguments"], indent=2, ensure_ascii=False), MAX_TEXT
            ),
            observation=panels.text_block(step["observation"], MAX_TEXT),
            is_error=step.get("is_error", False),
            is_history=step.get("is_history", False),
            took=f"{step['took_ms']:,} ms" if step.get("took_ms") else "",
        )
        for number, step in enumerate(run.steps, start=1)
    ]


def memory_panels(run: AgentRun, caller: Caller) -> Iterator[Panel]:
    """Yield what the run was given, and what was stored after it, where the person sees it."""
    given = run.memory
    tiers = ("facts", "episodes", "digest")
    memories = _memories(
        run, caller, [each for tier in tiers for each in given.get(tier, ())]
    )
    yield _panel("Facts given", given.get("facts", ()), memories)
    yield _panel("Episodes given", given.get("episodes", ()), memories)
    yield _panel("Digest given", given.get("digest", ()), memories)
    entries = PlaybookEntry.objects.visible_to(caller).filter(project=run.project_id)
    rules = entries.in_bulk(given.get("entries", ()))
    yield _panel("Rules given", given.get("entries", ()), _by_id(rules.values()))
    told = Invocation.objects.visible_to(caller, run.project)
    invocations = told.in_bulk(given.get("invocations", ()))
    yield _panel(
        "Earlier invocations given",
        given.get("invocations", ()),
        _by_id(invocations.values()),
    )
    learned = run.learned
    ids = [*learned.get("facts", ()), *filter(None, [learned.get("episode")])]
    yield _panel("Learned", ids, _memories(run, caller, ids))


def _memories(run: AgentRun, caller: Caller, ids: Iterable[str]) -> dict[str, Any]:
    rows = Memory.objects.visible_to(caller).filter(project=run.project_id)
    return _by_id(rows.light().in_bulk(list(ids)).values())


def _by_id(rows: Iterable[Any]) -> dict[str, Any]:
    return {str(row.pk): row for row in rows}


def _panel(title: str, ids: Iterable[str], rows: dict[str, Any]) -> Panel:
    listed = list(ids)
    return panels.table(
        title,
        ["Text", "Date"],
        ([_link(rows.get(each)), _date(rows.get(each))] for each in listed),
        empty="None.",
        most=MOST_GIVEN,
    )


def _link(row: Any) -> SafeString | str:
    if row is None:
        return "gone, or not yours to see"
    if isinstance(row, Invocation):
        return short_text(row.summary or row.query)
    return row_link(row._meta.label_lower.replace(".", "_"), row.pk, _text(row))


def _text(row: Any) -> str:
    return str(getattr(row, "title", "") or getattr(row, "content", "") or row)


def _date(row: Any) -> SafeString | str:
    return panels.time_tag(row.created_at) if row is not None else ""


def refusals_of(run: AgentRun) -> str:
    """Return a sentence about what was not stored, "" if there is nothing to say."""
    refused = run.learned.get("refused") or {}
    if not refused:
        return ""
    counted = ", ".join(f"{count} for {why}" for why, count in sorted(refused.items()))
    return f"Not stored as facts: {counted}."
