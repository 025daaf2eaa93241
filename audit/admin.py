from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import redirect
from django.urls import NoReverseMatch, URLPattern, path, reverse

from audit import csv_export
from audit.models import AuditEvent
from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import Panel, format_time, short_text
from common.caller import Caller, Role

CHUNK = 2_000  # the number of events that a CSV export reads at once
# {object type: the admin page of such an object}. Objects of other types have no page.
PAGES = {
    "memory": "memories_memory",
    "tag": "memories_tag",
    "file": "memories_file",
    "possible_duplicate": "memories_possibleduplicate",
    "purge": "memories_purge",
    "playbook_entry": "playbook_playbookentry",
    "playbook_delta": "playbook_playbookdelta",
    "playbook": "playbook_playbook",
    "playbook_conflict": "playbook_conflict",
    "digest_config": "context_digestconfig",
    "session": "conversations_session",
    "run": "ace_acerun",
    "agent_run": "agents_agentrun",
    "agent_tool": "agents_agenttool",
    "memory_switch": "conversations_memoryswitch",
    "job": "jobs_job",
    "project": "projects_project",
    "key": "access_apikey",
    "account": "auth_user",
}


@admin.register(AuditEvent)
class AuditEventAdmin(RowsAdmin):
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

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        query = request.GET.urlencode()
        url = reverse("admin:audit_auditevent_csv")
        link = {"label": "Download as CSV", "url": f"{url}?{query}" if query else url}
        return super().changelist_view(
            request, {"links": [link], **(extra_context or {})}
        )

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

    at_display = staticmethod(
        panels.column("at", format_time, title="when", ordering="id")
    )
    actor_display = staticmethod(
        panels.column("actor", lambda actor: short_text(actor, 40), ordering="actor")
    )
    detail_display = staticmethod(
        panels.column("detail", panels.json_block, title="detail")
    )

    @admin.display(description="object")
    def object_display(self, event: AuditEvent) -> Any:
        return _object_link(event)


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
    label = f"{event.object_type} {event.object_id}"
    page = PAGES.get(event.object_type)
    if page is None:
        return short_text(label, 60)
    try:
        return panels.row_link(page, event.object_id, label, 60)
    except NoReverseMatch:
        return short_text(label, 60)
