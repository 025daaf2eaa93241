"""What an agent would be given for a task, on a page: nothing of it is kept."""

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

MAX_ROWS = 200  # entries shown on each side
SKIP_REASONS = {
    "budget": "does not fit in the budget",
    "below_gate": "below the relevance gate",
}


class PlaybookPreviewForm(ProjectPageForm):
    task = forms.CharField(
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        help_text="As an agent would name it. Without one nothing is relevant.",
    )
    token_budget = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=200_000,
        widget=UnfoldAdminTextInputWidget({"inputmode": "numeric"}),
        help_text="Empty: the project's own.",
    )
    relevant_only = forms.BooleanField(
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text="Without what is below the relevance gate; pinned entries stay.",
    )

    def apply(self) -> RenderedPlaybook:
        data = self.cleaned_data
        if data["relevant_only"] and not data["task"].strip():
            told = "Only a task makes entries relevant: name it."
            raise errors.Invalid(errors={"task": [told]})
        project = project_lookup.find_project(data["project"], self.caller)
        return renderer.render(
            project,
            self.caller,
            task=data["task"],
            budget=data["token_budget"],
            relevant_only=data["relevant_only"],
        )


def preview_result(request: HttpRequest, rendered: RenderedPlaybook) -> Iterable[Panel]:
    left = [
        (given, SKIP_REASONS[reason])
        for reason, over in rendered.skipped.items()
        for given in over
    ]
    count = len(rendered.rendered_entries)
    yield Panel(
        f"The agent is given {count:,} of {count + len(left):,} entries in "
        f"{rendered.tokens:,} of {rendered.budget:,} tokens",
        [""],
        [[panels.text_block(rendered.text)]] if rendered.text else [],
        "No entry.",
        " ".join(rendered.notes),
    )
    yield _table(
        "In it", ((given, given.reason) for given in rendered.rendered_entries)
    )
    yield _table("Left out", left)


def _table(title: str, told: Iterable[tuple[RenderedEntry, str]]) -> Panel:
    return panels.table(
        title,
        ["Rank", "Entry", "Rule", "Why", "Relevance", "Tokens"],
        (
            [rank, *_cells(given, why)]
            for rank, (given, why) in enumerate(told, start=1)
            if rank <= MAX_ROWS + 1
        ),
        empty="No entry.",
        most=MAX_ROWS,
    )


def _cells(given: RenderedEntry, why: str) -> list[Any]:
    return [
        row_link(ENTRY, given.entry.pk, given.entry.label, panels.SHORT_LIMIT),
        short_text(given.line.partition("] ")[2], PANEL_LIMIT),
        why,
        "" if given.relevance is None else f"{given.relevance:.3f}",
        f"{given.tokens:,}",
    ]
