"""Preview what an agent gets for a task. The preview records nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from common import errors
from common.admin import panels
from common.admin.pages import ProjectPageForm
from common.admin.panels import PANEL_LIMIT, Panel, row_link, short_text
from playbook.admin.panel_tables import ENTRY
from playbook.reading import renderer
from playbook.reading.renderer import RenderedEntry, RenderedPlaybook
from projects import project_lookup

MAX_ROWS = 200  # entries in each table
SKIP_REASONS = {
    "budget": "does not fit in the budget",
    "below_gate": "below the relevance gate",
}


class PlaybookPreviewForm(ProjectPageForm):
    task = forms.CharField(
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        help_text="The task of an agent. Without a task, no entry is relevant.",
    )
    token_budget = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=200_000,
        widget=UnfoldAdminTextInputWidget({"inputmode": "numeric"}),
        help_text="Empty: the budget of the project.",
    )
    relevant_only = forms.BooleanField(
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text="Leave out entries below the relevance gate, except pinned ones.",
    )

    def apply(self) -> RenderedPlaybook:
        data = self.cleaned_data
        if data["relevant_only"] and not data["task"].strip():
            message = "Enter a task; without a task, no entry is relevant."
            raise errors.Invalid(errors={"task": [message]})
        project = project_lookup.find_project(data["project"], self.caller)
        return renderer.render(
            project,
            self.caller,
            task=data["task"],
            budget=data["token_budget"],
            relevant_only=data["relevant_only"],
        )


def preview_result(request: HttpRequest, rendered: RenderedPlaybook) -> Iterable[Panel]:
    skipped = [
        (entry, SKIP_REASONS[reason])
        for reason, entries in rendered.skipped.items()
        for entry in entries
    ]
    count = len(rendered.rendered_entries)
    yield Panel(
        f"The agent gets {count:,} of {count + len(skipped):,} entries in "
        f"{rendered.tokens:,} of {rendered.budget:,} tokens",
        [""],
        [[panels.text_block(rendered.text)]] if rendered.text else [],
        "No entry.",
        " ".join(rendered.notes),
    )
    yield _table(
        "Included", ((entry, entry.reason) for entry in rendered.rendered_entries)
    )
    yield _table("Left out", skipped)


def _table(title: str, rows: Iterable[tuple[RenderedEntry, str]]) -> Panel:
    return panels.table(
        title,
        ["Rank", "Entry", "Rule", "Why", "Relevance", "Tokens"],
        (
            [rank, *_cells(entry, why)]
            for rank, (entry, why) in enumerate(rows, start=1)
            if rank <= MAX_ROWS + 1
        ),
        empty="No entry.",
        most=MAX_ROWS,
    )


def _cells(entry: RenderedEntry, why: str) -> list[Any]:
    return [
        row_link(ENTRY, entry.entry.pk, entry.entry.label, panels.SHORT_LIMIT),
        short_text(entry.line.partition("] ")[2], PANEL_LIMIT),
        why,
        "" if entry.relevance is None else f"{entry.relevance:.3f}",
        f"{entry.tokens:,}",
    ]
