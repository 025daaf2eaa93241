from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.http import (
    HttpRequest,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import redirect
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils.html import format_html

from audit import csv_export
from audit.models import AuditEvent
from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, exact_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import Panel, format_time, short_text
from common.caller import Caller, Role

CHUNK = 2_000  # the number of events that a CSV export reads at once
# {object type: the page of such an object}. Objects of other types have no page.
PAGES = {
    "memory": "admin:memories_memory_change",
    "tag": "admin:memories_tag_change",
    "file": "admin:memories_file_change",
    "purge": "admin:memories_purge_change",
    "playbook_entry": "admin:playbook_playbookentry_change",
    "playbook_delta": "admin:playbook_playbookdelta_change",
    "run": "admin:ace_acerun_change",
    "job": "admin:jobs_job_change",
    "project": "admin:projects_project_change",
    "key": "admin:access_apikey_change",
    "account": "admin:auth_user_change",
    "session": "console:session",
    "agent_run": "console:agent_run",
}


@admin.register(AuditEvent)
class AuditEventAdmin(RowsAdmin):
    list_title = "Audit"
    view_role = Role.OWNER
    list_display = [
        "at_display",
        "actor_display",
        "verb",
        "object_display",
        "project_name",
        "address",
    ]
    list_filter = [
        ProjectFilter,
        exact_filter("verb__startswith", "verb starts with", name="verb"),
        exact_filter("actor"),
        exact_filter("object_type"),
        exact_filter("key_id", "key id"),
        ("at", DaysFilter),
    ]
    search_fields = ["object_id", "actor", "verb", "request_id", "agent_id"]
    search_help_text = "Object id, actor, verb or request id"
    fieldsets = [
        (None, {"fields": ["at_display", "verb", "actor", "agent_id", "key_id"]}),
        (
            "About",
            {
                "fields": [
                    "project_name",
                    "object_type",
                    "object_display",
                    "detail_display",
                ]
            },
        ),
        ("State", {"fields": ["before_hash", "after_hash"]}),
        ("Request", {"fields": ["request_id", "address", "account_id"]}),
    ]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.csv_view)
        own = path("csv/", view, name="audit_auditevent_csv")
        return [own, *super().get_urls()]

    def list_links(self, request: HttpRequest) -> list[dict[str, str]]:
        query = request.GET.urlencode()
        url = reverse("admin:audit_auditevent_csv")
        return [{"label": "Download as CSV", "url": f"{url}?{query}" if query else url}]

    def csv_view(self, request: HttpRequest) -> HttpResponseBase:
        """Download all events that match the filters of the list."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            rows = self.get_changelist_instance(request).queryset
        except IncorrectLookupParameters:
            return redirect("admin:audit_auditevent_changelist")
        events = rows.iterator(chunk_size=CHUNK)
        return StreamingHttpResponse(
            csv_export.csv_lines(events),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="audit.csv"'},
        )

    at_display = panels.column("at", format_time, title="when", ordering="id")
    actor_display = panels.column(
        "actor", lambda actor: short_text(actor, 40), ordering="actor"
    )
    detail_display = panels.column("detail", panels.json_block)

    @admin.display(description="object")
    def object_display(self, event: AuditEvent) -> Any:
        return _object_link(event)


class AuditedAdmin(RowsAdmin):
    """Rows whose page *History* lists their audit rows."""

    def history_panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        yield history_panel(row.pk, caller_of(request))


def history_panel(object_id: object, caller: Caller, object_type: str = "") -> Panel:
    """Return a panel of one object's audit rows that the caller may see.

    Pass `object_type` if a row of another kind can have the same id.
    """
    rows = AuditEvent.objects.visible_to(caller).filter(object_id=str(object_id))
    if object_type:
        rows = rows.filter(object_type=object_type)
    return panels.table(
        "Audit",
        ["When", "Who", "What", "Detail"],
        _event_rows(rows[: panels.ROW_LIMIT + 1]),
        empty="No audit rows, or none that your role shows.",
    )


def _event_rows(events: Iterable[AuditEvent]) -> Iterable[list[Any]]:
    for event in events:
        detail = panels.json_block(event.detail, 1_000)
        yield [format_time(event.at), short_text(event.actor, 60), event.verb, detail]


def _object_link(event: AuditEvent) -> Any:
    label = short_text(f"{event.object_type} {event.object_id}", 60)
    page = PAGES.get(event.object_type)
    if page is None:
        return label
    try:
        url = reverse(page, args=[event.object_id])
    except NoReverseMatch:
        return label
    if page.startswith("console:"):
        url = f"{url}?project={event.project_id}"
    return format_html('<a class="am-link" href="{}">{}</a>', url, label)
