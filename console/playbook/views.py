from __future__ import annotations

import functools
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import Panel, row_link, time_tag
from common.caller import Role
from common.text import word_diff
from console.playbook import revision_content
from console.playbook.revision_forms import (
    PlacementForm,
    RevertForm,
    RevisionForm,
    revert_choices,
)
from console.project_page import ProjectPage
from playbook.history.undo_changes import VERSION_COLUMNS
from playbook.models import PlaybookChange, PlaybookDelta
from playbook.reading import past_revisions, revision_diff
from playbook.reading.revision_diff import EntryDifference
from playbook.review.revert import RevertResult

ENTRY, DELTA = "playbook_playbookentry", "playbook_playbookdelta"
RUN = "ace_acerun"


class RevisionPage(ProjectPage):
    """The playbook at `revision`, with a form to revert changes.

    With `to`, the page also shows the differences between the two revisions.
    """

    title = "Revisions"
    template = "console/playbook/revision.html"
    style = "console/playbook.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render_page()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Revert. After a refusal, the page still contains what the person typed."""
        self.require(Role.CURATOR)
        form = RevertForm(
            request.POST,
            project=self.project,
            revision=self.revision_form.revision_or_present,
            caller=self.caller,
        )
        if form.is_valid():
            return self.redirect_after_revert(form.result)
        return self.render_page(form, status=400)

    def redirect_after_revert(self, result: RevertResult) -> HttpResponse:
        count = len(result.changes)
        message = f"Reverted by {count:,} new changes: revision {result.revision}."
        messages.success(self.request, message)
        for note in result.notes:
            messages.warning(self.request, note)
        return redirect(self.url(revision=result.revision))

    @functools.cached_property
    def present(self) -> int:
        return past_revisions.current_revision(self.project, self.caller)

    @functools.cached_property
    def revision_form(self) -> RevisionForm:
        form = RevisionForm(self.request.GET, present=self.present)
        form.is_valid()
        return form

    def url(self, **query: Any) -> str:
        query = {"project": self.project.pk} | query
        query = {name: value for name, value in query.items() if value is not None}
        return f"{reverse('console:playbook')}?{urlencode(query)}"

    def render_page(
        self, revert_form: RevertForm | None = None, status: int = 200
    ) -> HttpResponse:
        revision = self.revision_form.revision_or_present
        to: int | None = self.revision_form.cleaned_data.get("to")
        changes = revision_content.changes_of(self.project, revision, self.caller)
        may = self.may(Role.CURATOR)
        section = self.section(revision)
        return self.render(
            self.template,
            status=400 if self.revision_form.errors else status,
            form=self.revision_form,
            revision=revision,
            present=self.present,
            links=self.links(revision, to, section),
            first_change=changes[0] if changes else None,
            at=time_tag(changes[0].changed_at) if changes else "",
            changes=[_changes_panel(changes)] if changes else [],
            choices=revert_choices(
                revision, self.present, changes[: revision_content.MAX_CHANGES]
            )
            if may
            else [],
            revert_form=revert_form,
            section=section,
            rows=self.rows(section, revision, to),
            may_place=may and revision == self.present,
        )

    def links(self, revision: int, to: int | None, section: str) -> dict[str, str]:
        """Return the links of the page. The link to a missing revision is empty."""
        link_to = functools.partial(self.url, to=to)
        return {
            "here": link_to(revision=revision),
            "earlier": link_to(revision=revision - 1) if revision else "",
            "later": link_to(revision=revision + 1) if revision < self.present else "",
            "shown": link_to(revision=revision, show=section),
            "entries": link_to(revision=revision, show="entries"),
            "differences": link_to(revision=revision, show="differences"),
        }

    def section(self, revision: int) -> str:
        value = self.request.GET.get("show")
        default = "entries" if revision == self.present else "differences"
        return value if value in ("entries", "differences") else default

    def rows(self, section: str, revision: int, to: int | None) -> Any:
        """Return a page of the entries, or of the differences between the revisions."""
        number = self.request.GET.get("page", "1")
        if section == "differences":
            last, differences = revision_diff.diff_revisions(
                self.project, revision, to, self.caller
            )
            page = revision_content.page_of(differences, number)
            page.panels = [
                _differences_panel(f"{revision} to {last}", differences, page)
            ]
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
            self.add_message(form.result)
        for field_errors in form.errors.values():
            messages.error(request, " ".join(map(str, field_errors)))
        query = {"project": self.project.pk, "page": request.POST.get("page", "1")}
        return HttpResponseRedirect(f"{reverse('console:playbook')}?{urlencode(query)}")

    def add_message(self, delta: PlaybookDelta | None) -> None:
        if delta is None:
            messages.info(self.request, "The entry is there already.")
        elif delta.status in PlaybookDelta.IN_FORCE:
            messages.success(self.request, "Its place is changed.")
        else:
            message = f"The change is {delta.status}. {delta.review_note}"
            messages.warning(self.request, message)


def _changes_panel(changes: list[PlaybookChange]) -> Panel:
    return panels.table(
        f"Changes of revision {changes[0].revision}",
        ["Entry", "Action", "Change", "Origin"],
        (
            [
                row_link(ENTRY, one.entry_id, one.entry_label, panels.SHORT_LIMIT),
                row_link(
                    "playbook_playbookchange", one.pk, one.action, panels.SHORT_LIMIT
                ),
                _describe_change(one.before, one.after),
                row_link(RUN, one.run_id, "a run", panels.SHORT_LIMIT)
                or row_link(DELTA, one.delta_id, "a delta", panels.SHORT_LIMIT),
            ]
            for one in changes
        ),
        most=revision_content.MAX_CHANGES,
    )


def _differences_panel(
    between: str, differences: list[EntryDifference], page: Any
) -> Panel:
    counts = Counter(one.kind for one in differences)
    summary = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    return panels.table(
        f"From revision {between}: {summary or 'the same'}",
        ["Entry", "Difference", "Text", "Other columns"],
        (
            [
                row_link(ENTRY, one.entry_id, one.entry_label, panels.SHORT_LIMIT),
                one.kind,
                panels.diff_block(one.words) if "content" in one.columns else "",
                _other_columns(one),
            ]
            for one in page
        ),
        empty="Nothing differs. Choose an earlier revision to see later changes.",
    )


def _other_columns(one: EntryDifference) -> SafeString:
    columns = {name: pair for name, pair in one.columns.items() if name != "content"}
    if not columns or one.kind == "added":
        return SafeString("")
    before = {name: pair[0] for name, pair in columns.items()}
    after = {name: pair[1] for name, pair in columns.items()}
    return panels.change_block(before, after)


def _describe_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    """Display the word diff of the text, then the other columns.

    For a new entry, display only the text.
    """
    names = [
        n for n in {**before, **after} if n != "content" and n not in VERSION_COLUMNS
    ]
    texts = [str(side.get("content") or "") for side in (before, after)]
    words = (
        panels.diff_block(word_diff.diff_words(*texts))
        if any(texts)
        else SafeString("")
    )
    if not names or (words and not before):
        return words
    old = {name: before[name] for name in names if name in before}
    new = {name: after.get(name) for name in names}
    return words + panels.change_block(old, new)
