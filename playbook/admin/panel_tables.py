"""Panels and table rows that several admin pages of the playbook share."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import PANEL_LIMIT, Panel, format_time, row_link, short_text
from playbook.admin import change_text
from playbook.models import PlaybookChange, PlaybookDelta
from playbook.review import gate_words

ENTRY = "playbook_playbookentry"
DELTA = "playbook_playbookdelta"
RUN = "ace_acerun"
MEMORY = "memories_memory"


def delta_rows(deltas: Iterable[PlaybookDelta]) -> Iterable[list[Any]]:
    for delta in deltas:
        yield [
            format_time(delta.created_at),
            row_link(DELTA, delta.pk, delta.operation, panels.SHORT_LIMIT),
            short_text(delta.content or delta.reason, PANEL_LIMIT),
            delta.producer,
            delta.status,
        ]


def revision_url(project_id: uuid.UUID, revision: int | None = None) -> str:
    """Return the URL of the revision page.

    The URL is built from a name, because the app of that page is above this app.
    """
    parameters = {"project": project_id} | ({"revision": revision} if revision else {})
    return f"{reverse('console:playbook')}?{urlencode(parameters)}"


def revision_link(change: PlaybookChange) -> SafeString:
    url = revision_url(change.project_id, change.revision)
    return format_html('<a class="am-link" href="{}">{}</a>', url, change.revision)


def change_rows(changes: Iterable[PlaybookChange]) -> Iterable[list[Any]]:
    for change in changes:
        yield [
            revision_link(change),
            format_time(change.changed_at),
            row_link(
                "playbook_playbookchange", change.pk, change.action, panels.SHORT_LIMIT
            ),
            short_text(change.entry_label, 40),
            short_text(change.actor, 60),
            change_text.describe_change(change.before, change.after),
            short_text(change.reason, 200),
        ]


CHANGE_HEAD = ["Revision", "When", "What", "Entry", "Who", "Change", "Why"]


def history_panel(changes: Any, *, most: int = panels.ROW_LIMIT) -> Panel:
    return panels.table(
        "History", CHANGE_HEAD, change_rows(changes[: most + 1]), most=most
    )


def evidence_panel(quotes: list[Any]) -> Panel:
    return panels.table(
        "Evidence",
        ["Field", "From", "To", "Quote"],
        (
            [
                short_text(quote.get("field", ""), 60),
                quote.get("start"),
                quote.get("end"),
                panels.text_block(quote.get("quote", ""), 2_000),
            ]
            for quote in quotes
            if isinstance(quote, dict)
        ),
        empty="No quote.",
    )


def gates_panel(gates: list[Any]) -> Panel:
    """List what the gates found, in words."""
    return panels.table(
        "Checks",
        ["Check", "Result", "What it found"],
        (
            [
                short_text(result.label, 100),
                short_text(result.verdict_words, 100),
                short_text(result.sentence, 300),
            ]
            for result in gate_words.describe(gates)
        ),
        empty="No check was run.",
    )
