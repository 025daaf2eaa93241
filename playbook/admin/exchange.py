"""Admin pages that export and import a playbook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin import panels
from common.admin.model_admin import caller_of
from common.admin.pages import ProjectPageForm
from common.admin.panels import Panel, short_text
from playbook.admin.panel_tables import DELTA, delta_rows
from playbook.entries.text_limits import MAX_REASON
from playbook.exchange import export_playbook, import_playbook
from playbook.exchange.ace_format import name_place
from playbook.exchange.export_playbook import Format
from playbook.exchange.import_playbook import ImportResult
from playbook.models import PlaybookDelta
from playbook.proposals import person_edits
from playbook.serializers.exchange import MAX_IMPORT
from projects import project_lookup
from projects.models import Project

FORMATS = [
    ("ace", "ACE lines"),
    ("json", "JSON with history"),
    ("agents-md", "block of an AGENTS.md"),
    ("skills", "SKILL.md files, in one JSON"),
]
SUFFIXES = {"ace": "txt", "json": "json", "agents-md": "md", "skills": "skills.json"}


@dataclass(frozen=True)
class ExportFile:
    project: Project
    format: Format
    text: str


class ExportForm(ProjectPageForm):
    format = forms.ChoiceField(choices=FORMATS, widget=UnfoldAdminSelectWidget)

    def apply(self) -> ExportFile:
        format = self.cleaned_data["format"]
        project = project_lookup.find_project(self.cleaned_data["project"], self.caller)
        text = export_playbook.export_text(project, self.caller, format=format)
        return ExportFile(project, format, text)


def download(request: HttpRequest, export: ExportFile) -> HttpResponse:
    stem = slugify(export.project.name) or export.project.pk
    name = f"playbook-{stem}.{SUFFIXES[export.format]}"
    response = HttpResponse(
        export.text.encode(), content_type=export_playbook.MEDIA_TYPES[export.format]
    )
    response["Content-Disposition"] = content_disposition_header(True, name)
    return response


class ImportForm(ProjectPageForm):
    self_guarded: ClassVar[frozenset[str]] = frozenset(["file", "content"])
    format = forms.ChoiceField(choices=FORMATS, widget=UnfoldAdminSelectWidget)
    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput({"class": "am-file"}),
    )
    content = forms.CharField(
        label="Or its text",
        max_length=MAX_IMPORT,
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget({"rows": 8}),
    )
    category = forms.CharField(
        max_length=40,
        required=False,
        help_text="The category of lines whose section matches none.",
        widget=UnfoldAdminTextInputWidget,
    )
    producer = forms.ChoiceField(
        label="Written by",
        choices=[("model", "a model"), ("human", "a person")],
        help_text="Only people may change entries of a person.",
        widget=UnfoldAdminSelectWidget,
    )

    release_reason = forms.CharField(
        label="Why its unsafe entries become live",
        max_length=MAX_REASON,
        required=False,
        help_text="An owner's reason of at least 10 characters; only for a history that is "
        "refused without it.",
        widget=UnfoldAdminTextInputWidget,
    )

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if file is None:
            return ""
        if file.size > MAX_IMPORT:
            raise forms.ValidationError(f"It is larger than {MAX_IMPORT >> 20} MiB.")
        try:
            text: str = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise forms.ValidationError("It is not UTF-8 text.") from None
        return text

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if "file" in data and bool(data["file"]) == bool(data.get("content")):
            self.add_error("file", "Choose a file that is not empty, or paste text.")
        return data

    def apply(self) -> ImportResult:
        data = self.cleaned_data
        project = project_lookup.find_project(data["project"], self.caller)
        if data["category"]:
            person_edits.refuse_unknown_category(project, data)
        return import_playbook.import_text(
            project,
            data["file"] or data["content"],
            self.caller,
            format=data["format"],
            category=data["category"],
            producer=data["producer"],
            release_reason=data["release_reason"],
        )


def import_result(request: HttpRequest, imported: ImportResult) -> Iterable[Panel]:
    if imported.restored is not None:
        text = f"{imported.restored:,} entries were restored with their history."
        yield Panel("Restored", [], empty=text)
    else:
        yield _counts_panel(imported)
        yield _waiting_panel(request, imported)
    if imported.unparsed:
        yield _unparsed_panel(imported)
    if imported.notes:
        yield panels.table(
            "Notes",
            [""],
            ([short_text(note, 1_000)] for note in imported.notes),
            most=200,
        )


def _counts_panel(imported: ImportResult) -> Panel:
    return panels.table(
        "Proposed changes",
        ["Operation", "Status", "Changes", "Known before"],
        (
            [one.operation, one.status, f"{one.count:,}", f"{one.known:,}"]
            for one in imported.deltas
        ),
        empty="Nothing: the playbook already says all of it.",
    )


def _waiting_panel(request: HttpRequest, imported: ImportResult) -> Panel:
    rows = PlaybookDelta.objects.visible_to(caller_of(request)).select_related("entry")
    waiting = rows.filter(pk__in=imported.waiting[: panels.ROW_LIMIT]).order_by("pk")
    panel = panels.table(
        "Waiting for a curator",
        ["When", "What", "Text", "Producer", "Status"],
        delta_rows(waiting),
        empty="Nothing.",
    )
    if len(imported.waiting) <= panels.ROW_LIMIT:
        return panel
    text = f"All {len(imported.waiting):,}"
    link = panels.list_link(DELTA, "status=pending", text)
    return Panel(panel.title, panel.head, panel.rows, note=link)


def _unparsed_panel(imported: ImportResult) -> Panel:
    return panels.table(
        "Unparsed lines",
        ["Where", "Text", "Why"],
        (
            [name_place(one.line, one.file), short_text(one.text, 200), one.why]
            for one in imported.unparsed
        ),
        most=200,
    )
