"""The changes of an agent memory as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import short_text, time_tag
from common.caller import Caller
from console import list_urls, text_diff
from console.session_links import session_url
from conversations.agent_memory import changelog, constraints, texts
from conversations.agent_memory.pair import MemoryPair
from conversations.models import AgentMemoryChange

MAX_CHANGES = texts.MAX_ROLLBACK


@dataclass(frozen=True)
class ChangeView:
    """A change with its difference; `is_rollback_possible` offers its text again."""

    row: AgentMemoryChange
    at: SafeString
    actor: SafeString
    session: SafeString | str
    difference: SafeString
    rest: int
    is_rollback_possible: bool


def view_changes(pair: MemoryPair, caller: Caller) -> list[ChangeView]:
    """Return the newest changes of a pair."""
    rows = changelog.changes_of(pair).visible_to(caller, pair.project)[:MAX_CHANGES]
    views: list[ChangeView] = []
    present: set[str] = set()  # the scopes whose newest text was seen already
    for row in rows:
        is_old = row.scope in texts.SCOPES and row.scope in present
        present.add(row.scope)
        views.append(_view(row, pair, is_rollback_possible=is_old))
    return views


def _view(
    row: AgentMemoryChange, pair: MemoryPair, *, is_rollback_possible: bool
) -> ChangeView:
    compared = text_diff.compare(
        _text(row, row.before_text), _text(row, row.after_text)
    )
    link: SafeString | str = ""
    if row.session_id:
        url = session_url(pair.project_id, row.session_id)
        link = list_urls.link(url, row.session_key[: panels.SHORT_LIMIT])
    return ChangeView(
        row,
        time_tag(row.created_at),
        short_text(row.actor, panels.SHORT_LIMIT),
        link,
        panels.diff_block(compared.parts),
        compared.rest,
        is_rollback_possible,
    )


def _text(row: AgentMemoryChange, text: str) -> str:
    """Return the constraints of a change as lines, and any other text as it is."""
    if row.scope != changelog.ChangeScope.CONSTRAINT:
        return text
    try:
        return "\n".join(f"- {each['text']}" for each in constraints.parse(text))
    except (ValueError, KeyError, TypeError):  # a purge masks the text
        return text
