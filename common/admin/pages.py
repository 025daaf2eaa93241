"""Admin pages that are neither lists nor rows: a form, and panels with its result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.action_forms import ApplyMixin
from common.admin.panels import Panel
from common.caller import Caller, Role


class PageForm(ApplyMixin, forms.Form):
    """The form of a page; `apply()` returns what the page renders."""

    def __init__(self, *args: Any, request: HttpRequest, role: Role, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.caller: Caller = request.caller  # type: ignore[attr-defined]  # the middleware's
        if "project" in self.fields:
            self._set_project_choices(request.projects, role)  # type: ignore[attr-defined]  # as above

    def _set_project_choices(self, names: Mapping[Any, str], role: Role) -> None:
        choices = [(str(pk), n) for pk, n in names.items() if self.caller.may(role, pk)]
        self.fields["project"].choices = choices  # type: ignore[attr-defined]  # a choice

    def context_panels(self) -> Iterable[Panel]:
        """Return panels above the form; they show the rows that the form is about."""
        return ()


class ProjectPageForm(PageForm):
    """The form of a page about one project; it offers projects where the person has the role."""

    project = forms.ChoiceField(widget=UnfoldAdminSelectWidget)


PageRenderer = Callable[[HttpRequest, Any], Iterable[Panel] | HttpResponse]
QueryFields = Mapping[str, object]
MAX_SELECTED = 100  # rows that a page can be about; the page's address has their ids


def _no_query(row: Any) -> None:
    return None


@dataclass(frozen=True)
class AdminPage:
    """Call one function, `form.apply()`, and render its result with `render`.

    The form is sent in the address, unless the page `uses_post`. The page of a row links
    here with the fields that `query_for_row` returns. If `query_for_row` returns None,
    there is no link. From the selected rows of a list, a person gets here with the fields
    that `query_for_rows` returns.
    """

    name: str
    label: str
    role: Role
    form: type[PageForm]
    render: PageRenderer
    button: str
    description: str = ""
    uses_post: bool = False
    in_list: bool = True
    query_for_row: Callable[[Any], QueryFields | None] = _no_query
    query_for_rows: Callable[[Sequence[Any]], QueryFields] | None = None

    def bind_form(self, request: HttpRequest) -> PageForm:
        """Fill the form from the address; bind the form if all required fields are there."""
        make = functools.partial(self.form, request=request, role=self.role)
        if self.uses_post:
            if request.method == "POST":
                return make(request.POST, request.FILES)
            return make(initial=request.GET.dict())
        form = make(initial=request.GET.dict())
        required = {name for name, field in form.fields.items() if field.required}
        return make(request.GET) if request.GET.keys() >= required else form


class PagesAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Add `pages` to a model's admin: their routes, and the links that lead to them."""

    pages: Sequence[AdminPage] = ()

    list_before_template = "admin/links.html"

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"{page.name}/",
                self.admin_site.admin_view(functools.partial(self.page_view, page)),
                name=self._url_name(page),
            )
            for page in self.pages
        ]
        return [*own, *super().get_urls()]

    def _url_name(self, page: AdminPage) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page.name}"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = [
            self._link(page, {})
            for page in self.pages
            if page.in_list and self.may(request, page.role)
        ]
        response: HttpResponse = super().changelist_view(
            request, {"links": links, **(extra_context or {})}
        )
        return response

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        """Return the links from the page of a row to the pages about this row."""
        queries = [
            (page, page.query_for_row(row))
            for page in self.pages
            if self.may(request, page.role, row)
        ]
        return [self._link(page, query) for page, query in queries if query is not None]

    def _link(self, page: AdminPage, query: QueryFields) -> dict[str, str]:
        return {"label": page.label, "url": self._url(page, query)}

    def _url(self, page: AdminPage, query: QueryFields) -> str:
        url = reverse(f"admin:{self._url_name(page)}")
        return f"{url}?{urlencode(query)}" if query else url

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {
            page.name: (self._redirect_action(page), page.name, f"{page.label}…")
            for page in self.pages
            if page.query_for_rows and self.may(request, page.role)
        }

    @staticmethod
    def _redirect_action(page: AdminPage) -> Callable[..., HttpResponse | None]:
        def redirect(
            self: PagesAdmin, request: HttpRequest, rows: QuerySet[Any]
        ) -> HttpResponse | None:
            selected = list(rows[: MAX_SELECTED + 1])
            if len(selected) > MAX_SELECTED:
                messages.error(request, f"Choose {MAX_SELECTED} rows at most.")
                return None
            assert page.query_for_rows
            return HttpResponseRedirect(self._url(page, page.query_for_rows(selected)))

        return redirect

    def page_view(self, page: AdminPage, request: HttpRequest) -> HttpResponse:
        if not self.may(request, page.role):
            raise PermissionDenied
        form = page.bind_form(request)
        panels: Iterable[Panel] | HttpResponse = ()
        if form.is_valid():
            panels = page.render(request, form.result)
        if isinstance(panels, HttpResponse):
            return panels
        context = {
            **self.admin_site.each_context(request),
            "title": page.label,
            "page": page,
            "form": form,
            "context_panels": list(form.context_panels()),
            "panels": list(panels),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/page.html", context)
