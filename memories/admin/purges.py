"""Pages that preview a purge, run a purge, and show receipts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from audit import admin as audit_admin
from common import errors
from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.pages import AdminPage, PageForm, ProjectPageForm
from common.admin.panels import Panel, format_time, label_column, row_link, short_text
from common.caller import Role
from memories.admin.derivation_pages import ChosenMemoriesForm
from memories.admin.status import MEMORY
from memories.models import Memory, Purge
from memories.retention import erase
from memories.retention.erase import ErasePlan
from projects import project_lookup
from projects.models import Project

PURGE = "memories_purge"
ABOUT = (
    "Removes texts for good: from memories, their history, vectors, runs, evidence, "
    "stored answers and jobs. They cannot be restored."
)
# The admin page of a descendant, by the kind that the receipt names.
PAGES = {
    "memory": MEMORY,
    "playbook_entry": "playbook_playbookentry",
    "playbook_delta": "playbook_playbookdelta",
}


class PurgeForm(PageForm):
    """Count what a purge would remove, and purge when the user confirms."""

    cascade = forms.BooleanField(
        label="Purge what was derived from it, too",
        required=False,
        help_text="Promoted and compacted memories, and lessons. If unchecked, they are "
        "listed for a person to review.",
        widget=UnfoldBooleanWidget,
    )
    reason = forms.CharField(
        max_length=500,
        help_text="The receipt keeps the reason, so do not repeat the purged text.",
        widget=UnfoldAdminTextInputWidget,
    )
    confirmed = forms.BooleanField(
        label="Purge now",
        required=False,
        help_text="If unchecked, the rows are only counted.",
        widget=UnfoldBooleanWidget,
    )

    def preview_or_purge(
        self, project: Project, selection: Mapping[str, Any]
    ) -> ErasePlan | Purge:
        data = self.cleaned_data
        if not data["confirmed"]:
            return erase.preview(
                project, selection, self.caller, cascade=data["cascade"]
            )
        return erase.purge(
            project,
            selection,
            self.caller,
            reason=data["reason"],
            cascade=data["cascade"],
        )


class PurgeMemoriesForm(PurgeForm, ChosenMemoriesForm):
    """Purge the memories in the URL."""

    def apply(self) -> ErasePlan | Purge:
        ids = self.cleaned_data["memories"]
        row = Memory.objects.visible_to(self.caller).filter(pk=ids[0]).first()
        if row is None:
            raise errors.NotFound(f"There is no memory {ids[0]}.")
        return self.preview_or_purge(row.project, {"ids": ids})


class PurgeSubjectForm(PurgeForm, ProjectPageForm):
    """Purge everything that belongs to a user, a session or an object."""

    of_what = forms.ChoiceField(
        label="Everything of",
        choices=[
            ("user_id", "a user"),
            ("session_id", "a session"),
            ("object", "an object"),
        ],
        widget=UnfoldAdminSelectWidget,
    )
    # The names of scopes are taken as they are: " u1" and "u1" are two users.
    key = forms.CharField(
        label="Its id",
        max_length=255,
        strip=False,
        widget=UnfoldAdminTextInputWidget,
    )
    object_type = forms.CharField(
        label="Type of the object",
        max_length=255,
        strip=False,
        required=False,
        widget=UnfoldAdminTextInputWidget,
    )
    field_order = ("project", "of_what", "key", "object_type")

    def apply(self) -> ErasePlan | Purge:
        data = self.cleaned_data
        kind, key = data["of_what"], data["key"]
        selection: dict[str, Any] = {kind: key}
        if kind == "object":
            if not data["object_type"]:
                raise errors.Invalid(errors={"object_type": ["Name its type."]})
            selection = {kind: {"object_type": data["object_type"], "object_id": key}}
        return self.preview_or_purge(
            project_lookup.find_project(data["project"], self.caller), selection
        )


def _show_result(
    request: HttpRequest, result: ErasePlan | Purge
) -> Iterable[Panel] | HttpResponse:
    if isinstance(result, ErasePlan):
        return [
            counts_panel(result.counts),
            descendants_panel(vars(d) for d in result.descendants),
        ]
    if result.state == Purge.PurgeState.DONE:
        messages.success(request, "Purged; this is the receipt.")
    else:
        messages.warning(request, "There are many rows: a job purges them now.")
    return redirect(f"admin:{PURGE}_change", result.pk)


def counts_panel(counts: Mapping[str, int]) -> Panel:
    return panels.table(
        "Rows",
        ["Table", "Rows"],
        ([table, f"{rows:,}"] for table, rows in sorted(counts.items())),
        empty="There is nothing left to purge.",
        most=200,
    )


def descendants_panel(descendants: Iterable[Mapping[str, Any]]) -> Panel:
    return panels.table(
        "Derived from it",
        ["Row", "How", ""],
        (
            [
                row_link(PAGES[each["kind"]], each["id"]),
                short_text(each["how"], 60),
                "purged with it" if each["is_purged"] else "left to a person",
            ]
            for each in descendants
        ),
        empty="Nothing.",
        most=200,
    )


PURGE_MEMORIES = AdminPage(
    "purge",
    "Purge",
    Role.OWNER,
    PurgeMemoriesForm,
    _show_result,
    "Go on",
    description=ABOUT,
    uses_post=True,
    in_list=False,
    query_for_row=lambda memory: {"memories": memory.pk},
    query_for_rows=lambda rows: {"memories": ",".join(str(row.pk) for row in rows)},
)
PURGE_SUBJECT = AdminPage(
    "purge",
    "Purge",
    Role.OWNER,
    PurgeSubjectForm,
    _show_result,
    "Go on",
    description=ABOUT,
    uses_post=True,
)


@admin.register(Purge)
class PurgeAdmin(RowsAdmin):
    view_role = Role.OWNER
    pages = [PURGE_SUBJECT]
    list_display = [
        "created_display",
        "state_display",
        "what_display",
        "rows_display",
        "reason_display",
        "actor_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", Purge.PurgeState.choices),
        ("created_at", DaysFilter),
    ]
    search_fields = ["id", "actor"]
    search_help_text = "Id, or who asked"
    fields = [
        "id",
        "state_display",
        "selection_display",
        "cascade",
        "reason_display",
        "actor_display",
        "project_name",
        "created_display",
        "done_display",
        "texts_display",
    ]

    reason_display = staticmethod(panels.column("reason", short_text, title="reason"))
    actor_display = staticmethod(panels.column("actor", short_text, title="who"))
    selection_display = staticmethod(panels.column("selection", panels.json_block))
    created_display = staticmethod(
        panels.column("created_at", format_time, title="asked", ordering="id")
    )
    done_display = staticmethod(panels.column("done_at", format_time, title="done"))

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(proofs=Count("texts"))

    @label_column("state", {"done": "success", "waiting": "warning"}, "state")
    def state_display(self, purge: Purge) -> str:
        return purge.state

    @admin.display(description="of")
    def what_display(self, purge: Purge) -> Any:
        return short_text(", ".join(purge.selection), 60)

    @admin.display(description="rows")
    def rows_display(self, purge: Purge) -> str:
        return f"{sum(purge.counts.values()):,}"

    @admin.display(description="HMACs of texts")
    def texts_display(self, purge: Any) -> str:
        return f"{purge.proofs:,}"

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        yield counts_panel(row.counts)
        yield descendants_panel(row.descendants)

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
