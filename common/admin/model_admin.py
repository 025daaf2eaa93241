"""The base of every admin page: rows through `visible_to(caller)`, rights by role.

The middleware of the admin puts `caller` and `projects` ({id: name}) on the request.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.views import ChangeList

from common import errors
from common.admin.actions import AdminAction
from common.admin.pages import PagesAdmin
from common.admin.paginator import BoundedPaginator
from common.admin.panels import Panel, short_text
from common.caller import Caller, Role
from common.text import plain_text

MAX_ACTION_ROWS = 500  # rows that one list action works through


class RowList(ChangeList):  # type: ignore[misc]  # unfold is untyped
    def get_results(self, request: HttpRequest) -> None:
        """Give each row on the page its project's name, and how a search found it."""
        super().get_results(request)
        # The header would repeat an unbounded count beside the footer's bounded one.
        self.full_result_count = self.result_count
        hits = getattr(request, "hits", {})
        for row in self.result_list:
            self.model_admin.name_project(request, row)
            row.hit = hits.get(row.pk)


class RowsAdmin(PagesAdmin):
    """A read-only list and page; `deeds` are what a person may do to a row.

    `search_fields` are exact lookups, so that an index answers them: any may match.
    """

    # Where a row's project is found; empty for rows of the whole installation.
    project_path = "project_id"
    sees = Role.VIEWER
    adds: Role | None = None
    changes: Role | None = None
    deeds: Sequence[AdminAction] = ()

    actions_on_bottom = False
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_filter_submit = True
    paginator = BoundedPaginator
    save_on_top = False
    compressed_fields = True
    warn_unsaved_form = True
    change_form_outer_before_template = "admin/deeds.html"
    change_form_outer_after_template = "admin/panels.html"

    # Rows

    def visible_to(self, caller: Caller) -> Any:
        """The rows of the model that the caller may see."""
        return self.model.objects.visible_to(caller)

    def get_queryset(self, request: HttpRequest) -> Any:
        return self.visible_to(caller_of(request))

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        if plain_text.find_unstorable(object_id):
            return None
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            self.name_project(request, row)
        return row

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RowList]:
        return RowList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        typed = search_term.strip()
        if not typed:
            return queryset, False
        found = Q(pk__in=[])
        for lookup in self.search_fields:
            try:
                queryset.filter(**{lookup: typed})
            except (ValueError, ValidationError):
                continue
            found |= Q(**{lookup: typed})
        return queryset.filter(found), False

    # Columns

    def project_of(self, row: Any) -> uuid.UUID | None:
        value: Any = row
        for part in filter(None, self.project_path.split("__")):
            value = getattr(value, part, None)
        return value if isinstance(value, uuid.UUID) else None

    def name_project(self, request: HttpRequest, row: Any) -> None:
        project_id = self.project_of(row)
        names: dict[uuid.UUID, str] = request.projects  # type: ignore[attr-defined]  # the middleware's
        row.project_shown = (
            names.get(project_id, project_id or "") if project_id else ""
        )

    @admin.display(description="project")
    def project_name(self, row: Any) -> Any:
        return short_text(getattr(row, "project_shown", ""), 40)

    # Rights

    def may(self, request: HttpRequest, role: Role | None, row: Any = None) -> bool:
        """Whether the role is held in the row's project; without a row, anywhere."""
        caller = caller_of(request)
        if role is None:
            return False
        if caller.everywhere is not None:
            return caller.everywhere >= role
        if not self.project_path:
            return False
        if not isinstance(row, Model):
            return any(held >= role for held in caller.roles.values())
        project_id = self.project_of(row)
        return project_id is not None and caller.may(role, project_id)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may(request, self.sees)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, self.sees, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may(request, self.adds)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # The fields on the answer to a refused deed would be sent to the deed.
        is_refused = hasattr(request, "refused")
        return not is_refused and self.may(request, self.changes, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    # Forms

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.caller = caller_of(request)
        return form

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Nothing: the form has called the product's function already."""

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Any, change: bool
    ) -> None:
        """Nothing, like `save_model`."""

    # Deeds

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        deeds = {
            deed.name: (self._list_action(deed), deed.name, deed.label)
            for deed in self.deeds
            if not deed.needs_text and self.may(request, deed.role)
        }
        return deeds | super().get_actions(request)

    @staticmethod
    def _list_action(deed: AdminAction) -> Callable[..., None]:
        def act(self: RowsAdmin, request: HttpRequest, rows: QuerySet[Any]) -> None:
            done = sum(
                self.perform(
                    request, deed, row, "", seen=request.POST.get(f"seen-{row.pk}")
                )
                for row in rows[:MAX_ACTION_ROWS]
            )
            if done:
                messages.success(request, f"{done} {deed.done}.")

        return act

    def action_checkbox(self, obj: Any) -> SafeString:
        return format_html(
            '{}<input type="hidden" name="seen-{}" value="{}">',
            super().action_checkbox(obj),
            obj.pk,
            self.seen(obj),
        )

    def seen(self, row: Any) -> str:
        """What tells a row from a later one: its version, if it has one."""
        return str(getattr(row, "version", ""))

    def perform(
        self,
        request: HttpRequest,
        deed: AdminAction,
        row: Any,
        typed: str,
        *,
        seen: str | None = None,
    ) -> bool:
        """Do it; a refusal becomes a message. Tells whether it was done.

        `seen` is what the page showed; a row that it did not show has None.
        """
        caller = caller_of(request)
        if not self.may(request, deed.role, row):
            messages.error(
                request, f"{_short_name(row)}: this needs the role {deed.role.label}."
            )
            return False
        try:
            if seen not in (None, self.seen(row)):
                raise errors.StaleVersion
            done = deed.do(row, caller, typed)
        except errors.Refusal as refusal:
            messages.error(request, f"{_short_name(row)}: {refusal.detail}")
            return False
        for note in getattr(done, "notes", ()):
            messages.warning(request, format_html("{}: {}", _short_name(row), note))
        return True

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        view = self.admin_site.admin_view(require_POST(self.deed_view))
        own = path("<path:object_id>/do/<slug:deed_name>/", view, name=name)
        return [own, *super().get_urls()]

    def deed_view(
        self, request: HttpRequest, object_id: str, deed_name: str
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        deed = next((deed for deed in self.deeds if deed.name == deed_name), None)
        if row is None or deed is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[no-any-return]  # unfold is untyped
                request, self.opts, object_id
            )
        typed = plain_text.with_newlines(request.POST.get("text", ""))
        typed = typed.replace("\0", "").strip()
        seen = request.POST.get("seen")
        if is_done := self.perform(request, deed, row, typed, seen=seen):
            messages.success(request, f"{_short_name(row)}: {deed.done}.")
        is_there = self.get_object(request, unquote(object_id)) is not None
        if is_there and not is_done:
            return self._shown_again(request, object_id, {deed.name: typed})
        there = self.url_of(row, "change") if is_there else self.list_url
        return HttpResponseRedirect(there)

    def _shown_again(
        self, request: HttpRequest, object_id: str, refused: dict[str, str]
    ) -> HttpResponse:
        """The page with the deed that was refused, and what was typed into it."""
        request.refused = refused  # type: ignore[attr-defined]  # {deed: its text}
        request.method = "GET"  # what was posted is no change of the fields
        answer: HttpResponse = self.change_view(request, object_id)
        request.method = "POST"
        return answer

    def _offered(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        """What the template shows of each deed, a refused one with its text."""
        refused: dict[str, str] = getattr(request, "refused", {})
        return [
            {
                "deed": deed,
                "url": self.url_of(row, "do", deed.name),
                "is_refused": deed.name in refused,
                # A template would call the function.
                "starts": deed.starts_with is not None,
                "text": refused.get(deed.name, deed.starting(row)),
            }
            for deed in self.deeds
            if self.may(request, deed.role, row)
            # What was typed is kept even when the row has moved on.
            and (deed.fits(row) or (refused.get(deed.name) and not deed.choices))
        ]

    @property
    def list_url(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def url_of(self, row: Any, page: str, *more: str) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=[quote(row.pk), *more])

    # Pages

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        """The tables under the fields of a row."""
        return ()

    def past(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        """The tables of a row's history page."""
        return ()

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        if obj is not None:
            context |= {
                "deeds": self._offered(request, obj),
                "seen": self.seen(obj),
                "links": self.links(request, obj),
                "panels": list(self.panels(request, obj)),
            }
        # A saved row is looked at before the next one is made.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        answer: HttpResponse = super().render_change_form(
            request, context, add=add, change=change, form_url=form_url, obj=obj
        )
        return answer

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """What the product recorded; Django's own log knows only of this admin."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[no-any-return]  # unfold is untyped
                request, self.opts, object_id
            )
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": f"History of {_short_name(row)}",
            "panels": list(self.past(request, row)),
            "object": row,
            "opts": self.opts,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/past.html", context)

    # The functions that change rows write the audit rows; Django's log would be a
    # second truth.

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        return None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        return None

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        return None


class GlobalAdmin(RowsAdmin):
    """Rows of the whole installation: for people with a role everywhere only."""

    project_path = ""
    sees = Role.OWNER

    def visible_to(self, caller: Caller) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.all()
        return rows if caller.everywhere == Role.OWNER else rows.none()


def caller_of(request: HttpRequest) -> Caller:
    caller: Caller = request.caller  # type: ignore[attr-defined]  # the middleware's
    return caller


def _short_name(row: Any) -> str:
    return plain_text.clip(str(row), 80)
