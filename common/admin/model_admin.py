"""Base classes of every model admin: `visible_to(caller)` selects rows, roles give rights.

The admin middleware sets `caller` and `projects` ({id: name}) on the request.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from common import errors
from common.admin.filters import ProjectFilter
from common.admin.paginator import BoundedPaginator
from common.admin.panels import Panel, short_text
from common.caller import Caller, Role
from common.text import plain_text

MAX_TEXT = 500  # the most characters of the text of an action


def _always(row: Any, caller: Caller) -> bool:
    return True


@dataclass(frozen=True)
class AdminAction:
    """A button on the page of a row: call one function, `call(row, caller, text)`.

    Its refusals become messages. `text` is the content of a field with the label
    `text_label`, or one of the `choices`. Without a label, `text` is empty.
    """

    name: str
    label: str
    role: Role
    call: Callable[[Any, Caller, str], object]
    done_message: str
    is_possible: Callable[[Any, Caller], bool] = _always
    text_label: str = ""
    choices: tuple[str, ...] = ()
    is_final: bool = False


class RowList(ChangeList):  # type: ignore[misc]  # unfold is untyped
    def get_results(self, request: HttpRequest) -> None:
        """Set on each row of the page the name of its project."""
        super().get_results(request)
        # Otherwise the header would show an exact count, while the footer shows a bounded
        # count.
        self.full_result_count = self.result_count
        for row in self.result_list:
            self.model_admin.set_project_name(request, row)


class RowsAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """A read-only list and page; `row_actions` are the changes that a person can make.

    `search_fields` are exact lookups, so that an index can be used. A row matches if one of
    the lookups matches.
    """

    # The lookup path from a row to its project; empty for rows of the whole installation.
    project_path = "project_id"
    view_role = Role.VIEWER
    add_role: Role | None = None
    change_role: Role | None = None
    row_actions: Sequence[AdminAction] = ()
    # The title of the list, as the sidebar has it; by default the name of the rows.
    list_title = ""

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
    list_before_template = "admin/links.html"
    change_form_outer_before_template = "admin/row_actions.html"

    # Rows

    def visible_to(self, caller: Caller) -> Any:
        """Return the rows of the model that the caller may see."""
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
            self.set_project_name(request, row)
        return row

    def list_links(self, request: HttpRequest) -> list[dict[str, str]]:
        """Return the links above the list."""
        return []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Say above the list which project it is filtered by, with a link to all of them."""
        title = (
            self.list_title or str(self.model._meta.verbose_name_plural).capitalize()
        )
        own: dict[str, Any] = {"title": title, "links": self.list_links(request)}
        if ProjectFilter in self.list_filter and (asked := request.GET.get("project")):
            names: dict[uuid.UUID, str] = request.projects  # type: ignore[attr-defined]  # the middleware's
            others = request.GET.copy()
            for name in ("project", "p"):
                others.pop(name, None)
            shown = next((n for pk, n in names.items() if str(pk) == asked), "unknown")
            own |= {"list_project": shown, "all_projects": f"?{others.urlencode()}"}
        response: HttpResponse = super().changelist_view(
            request, own | (extra_context or {})
        )
        return response

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RowList]:
        return RowList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        condition = Q(pk__in=[])
        for lookup in self.search_fields:
            try:
                queryset.filter(**{lookup: term})
            except (ValueError, ValidationError):
                continue
            condition |= Q(**{lookup: term})
        return queryset.filter(condition), False

    # Columns

    def project_of(self, row: Any) -> uuid.UUID | None:
        value: Any = row
        for part in filter(None, self.project_path.split("__")):
            value = getattr(value, part, None)
        return value if isinstance(value, uuid.UUID) else None

    def set_project_name(self, request: HttpRequest, row: Any) -> None:
        project_id = self.project_of(row)
        names: dict[uuid.UUID, str] = request.projects  # type: ignore[attr-defined]  # the middleware's
        row.admin_project_name = (
            names.get(project_id, project_id or "") if project_id else ""
        )

    @admin.display(description="project")
    def project_name(self, row: Any) -> Any:
        return short_text(getattr(row, "admin_project_name", ""), 40)

    # Rights

    def may(self, request: HttpRequest, role: Role | None, row: Any = None) -> bool:
        """Return whether the caller has the role in the row's project.

        Without a row, return whether the caller has the role in any project.
        """
        caller = caller_of(request)
        if role is None:
            return False
        if caller.everywhere is not None:
            return caller.everywhere >= role
        if not self.project_path:
            return False
        if not isinstance(row, Model):
            return any(own >= role for own in caller.roles.values())
        project_id = self.project_of(row)
        return project_id is not None and caller.may(role, project_id)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may(request, self.view_role)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, self.view_role, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may(request, self.add_role)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, self.change_role, obj)

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
        """Do nothing, because the form has already called the product's function."""

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Any, change: bool
    ) -> None:
        """Do nothing, like `save_model`."""

    # Actions

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        view = self.admin_site.admin_view(require_POST(self.action_view))
        own = path("<path:object_id>/do/<slug:action_name>/", view, name=name)
        return [own, *super().get_urls()]

    def action_view(
        self, request: HttpRequest, object_id: str, action_name: str
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        action = next((a for a in self.row_actions if a.name == action_name), None)
        if row is None or action is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[no-any-return]  # unfold is untyped
                request, self.opts, object_id
            )
        text = plain_text.make_storable(request.POST.get("text", "")).strip()
        self._perform(request, action, row, text)
        is_there = self.get_object(request, unquote(object_id)) is not None
        url = self.url_of(row, "change") if is_there else self.list_url
        return HttpResponseRedirect(url)

    def _perform(
        self, request: HttpRequest, action: AdminAction, row: Any, text: str
    ) -> None:
        name = plain_text.clip(str(row), 80).rstrip(".!?:;, ")
        try:
            if not self.may(request, action.role, row):
                raise errors.Forbidden(f"It needs the role {action.role.label}.")
            if len(text) > MAX_TEXT:
                raise errors.Invalid(f"Shorten the text to {MAX_TEXT} characters.")
            result = action.call(row, caller_of(request), text)
        except errors.Refusal as refusal:
            messages.error(request, f"{name}: {refusal.detail}")
            return
        for note in getattr(result, "notes", ()):
            messages.warning(request, format_html("{}: {}", name, note))
        messages.success(request, f"{name}: {action.done_message}.")

    def _action_offers(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        """Return the data of the possible actions for the template."""
        return [
            {"action": action, "url": self.url_of(row, "do", action.name)}
            for action in self.row_actions
            if self.may(request, action.role, row)
            and action.is_possible(row, caller_of(request))
        ]

    @property
    def list_url(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def url_of(self, row: Any, page: str, *more: str) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=[quote(row.pk), *more])

    # Pages

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        """Return the links from the page of a row to pages of the console."""
        return []

    def history_panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        """Return the tables of a row's history page."""
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
                "row_actions": self._action_offers(request, obj),
                "links": self.links(request, obj),
            }
        # After saving, the person sees the new row before creating another one.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        response: HttpResponse = super().render_change_form(
            request, context, add=add, change=change, form_url=form_url, obj=obj
        )
        return response

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Render the product's own record, because Django's log covers only this admin."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[no-any-return]  # unfold is untyped
                request, self.opts, object_id
            )
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": f"History of {plain_text.clip(str(row), 80)}",
            "panels": list(self.history_panels(request, row)),
            "object": row,
            "opts": self.opts,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/history.html", context)

    # The functions that change rows write the audit rows. Django's log would be a
    # second record of the same.

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        return None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        return None

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        return None


class GlobalAdmin(RowsAdmin):
    """Rows of the whole installation, for people with a role in every project."""

    project_path = ""
    view_role = Role.OWNER

    def visible_to(self, caller: Caller) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.all()
        return rows if caller.everywhere == Role.OWNER else rows.none()


def caller_of(request: HttpRequest) -> Caller:
    caller: Caller = request.caller  # type: ignore[attr-defined]  # the middleware's
    return caller
