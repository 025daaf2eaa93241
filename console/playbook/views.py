from __future__ import annotations

import functools
import uuid
from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse

from common.admin import panels
from common.admin.panels import Panel, row_link, time_tag
from common.caller import Role
from console.playbook import revision_content
from console.playbook.revision_forms import (
    PlacementForm,
    RevertForm,
    RevisionForm,
    revert_choices,
)
from console.project_page import ProjectPage
from playbook.admin import change_text
from playbook.admin.panel_tables import DELTA, ENTRY, RUN
from playbook.models import PlaybookChange, PlaybookDelta
from playbook.reading import past_revisions, revision_diff
from playbook.reading.revision_diff import EntryDifference
from playbook.review.revert import RevertResult


class RevisionPage(ProjectPage):
    """The playbook as it was at `revision`, and what differs `to` another one."""

    title = "Revisions"
    template = "console/playbook/revision.html"
    style = "console/playbook.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Take back; what was typed stays on the page when that is refused."""
        self.require(Role.CURATOR)
        form = RevertForm(
            request.POST,
            project=self.project,
            revision=self.asked.revision_shown,
            caller=self.caller,
        )
        if not form.is_valid():
            return self.page(form, status=400)
        return self.taken_back(form.result)

    def taken_back(self, done: RevertResult) -> HttpResponse:
        count = len(done.changes)
        told = f"Taken back by {count:,} new changes: revision {done.revision}."
        messages.success(self.request, told)
        for note in done.notes:
            messages.warning(self.request, note)
        return redirect(self.address(revision=done.revision))

    @functools.cached_property
    def present(self) -> int:
        return past_revisions.current_revision(self.project, self.caller)

    @functools.cached_property
    def asked(self) -> RevisionForm:
        form = RevisionForm(self.request.GET, present=self.present)
        form.is_valid()
        return form

    def address(self, **asked: Any) -> str:
        given = {"project": self.project.pk} | asked
        told = {name: value for name, value in given.items() if value is not None}
        return f"{reverse('console:playbook')}?{urlencode(told)}"

    def page(self, taking: RevertForm | None = None, status: int = 200) -> HttpResponse:
        revision = self.asked.revision_shown
        to: int | None = self.asked.cleaned_data.get("to")
        changes = revision_content.changes_of(self.project, revision, self.caller)
        may = self.may(Role.CURATOR)
        shows = self.shows(revision)
        return self.render(
            self.template,
            status=400 if self.asked.errors else status,
            asked=self.asked,
            revision=revision,
            present=self.present,
            ways=self.ways(revision, to, shows),
            preview=f"{reverse('admin:playbook_playbook_preview')}"
            f"?project={self.project.pk}",
            step=changes[0] if changes else None,
            at=time_tag(changes[0].changed_at) if changes else "",
            changes=[_changes_panel(changes)] if changes else [],
            choices=revert_choices(
                revision, self.present, changes[: revision_content.MAX_CHANGES]
            )
            if may
            else [],
            taking=taking,
            shows=shows,
            rows=self.rows(shows, revision, to),
            places=may and revision == self.present,
        )

    def ways(self, revision: int, to: int | None, shows: str) -> dict[str, str]:
        """Where the page leads to; empty where there is no such revision."""
        there = functools.partial(self.address, to=to)
        return {
            "here": there(revision=revision),
            "earlier": there(revision=revision - 1) if revision else "",
            "later": there(revision=revision + 1) if revision < self.present else "",
            "shown": there(revision=revision, show=shows),
            "entries": there(revision=revision, show="entries"),
            "differences": there(revision=revision, show="differences"),
        }

    def shows(self, revision: int) -> str:
        given = self.request.GET.get("show")
        default = "entries" if revision == self.present else "differences"
        return given if given in ("entries", "differences") else default

    def rows(self, shows: str, revision: int, to: int | None) -> Any:
        """A page of the entries, or of what differs in them."""
        number = self.request.GET.get("page", "1")
        if shows == "differences":
            last, found = revision_diff.diff_revisions(
                self.project, revision, to, self.caller
            )
            page = revision_content.page_of(found, number)
            page.panels = [_differences_panel(f"{revision} to {last}", found, page)]
            return page
        if revision == self.present:
            return revision_content.page_of(
                revision_content.current_entries(self.project, self.caller), number
            )
        return revision_content.page_of(
            revision_content.entries_at(self.project, revision, self.caller), number
        )


class PlacementView(ProjectPage):
    """Set the priority of an entry, and whether it is pinned."""

    role = Role.CURATOR

    def post(self, request: HttpRequest, entry_id: uuid.UUID) -> HttpResponse:
        form = PlacementForm(request.POST, entry_id=entry_id, caller=self.caller)
        if form.is_valid():
            self.tell(form.result)
        for told in form.errors.values():
            messages.error(request, " ".join(map(str, told)))
        here = {"project": self.project.pk, "page": request.POST.get("page", "1")}
        return HttpResponseRedirect(f"{reverse('console:playbook')}?{urlencode(here)}")

    def tell(self, delta: PlaybookDelta | None) -> None:
        if delta is None:
            messages.info(self.request, "It stands there already.")
        elif delta.status in PlaybookDelta.IN_FORCE:
            messages.success(self.request, "Its place is changed.")
        else:
            told = f"The change is {delta.status}. {delta.review_note}"
            messages.warning(self.request, told)


def _changes_panel(changes: list[PlaybookChange]) -> Panel:
    return panels.table(
        f"Revision {changes[0].revision} did",
        ["Entry", "What", "Change", "Came of"],
        (
            [
                row_link(ENTRY, one.entry_id, one.entry_label, panels.SHORT_LIMIT),
                row_link(
                    "playbook_playbookchange", one.pk, one.action, panels.SHORT_LIMIT
                ),
                change_text.describe_change(one.before, one.after),
                row_link(RUN, one.run_id, "a run", panels.SHORT_LIMIT)
                or row_link(DELTA, one.delta_id, "a delta", panels.SHORT_LIMIT),
            ]
            for one in changes
        ),
        most=revision_content.MAX_CHANGES,
    )


def _differences_panel(between: str, found: list[EntryDifference], page: Any) -> Panel:
    counts = Counter(one.kind for one in found)
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    return panels.table(
        f"From revision {between}: {told or 'the same'}",
        ["Entry", "Is", "Text", "Other columns"],
        (
            [
                row_link(ENTRY, one.entry_id, one.entry_label, panels.SHORT_LIMIT),
                one.kind,
                panels.diff_block(one.words) if "content" in one.columns else "",
                change_text.other_columns(one),
            ]
            for one in page
        ),
        empty="Nothing differs. Choose an earlier revision to see what came since.",
    )
