"""Count the changes that wait for a person: the badge of Review in the sidebar."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.paginator import count_bounded, format_count
from common.caller import Caller
from playbook.models import PlaybookDelta

NAME = "waiting"  # in the counts that a decision answers with


def count_waiting(caller: Caller, project_id: object) -> str:
    """Return the count as a person reads it, and "" for none.

    Without a project, all projects of the caller count.
    """
    pending = PlaybookDelta.objects.visible_to(caller).pending()
    rows = pending.filter(project_id=project_id) if project_id else pending
    waiting = format_count(count_bounded(rows))
    if waiting == "0":
        return ""
    return waiting if project_id else f"{waiting} in all"


def make_badge(caller: Caller, project_id: object) -> SafeString:
    """Return the badge; the inbox's script changes its text after a decision."""
    text = count_waiting(caller, project_id)
    return format_html('<span data-count="{}">{}</span>', NAME, text)
