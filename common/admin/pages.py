"""Pages of the admin beside lists and rows: a form, and the tables that answer it."""

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
    """What a page asks for; `apply()` returns what it shows."""

    def __init__(self, *args: Any, request: HttpRequest, role: Role, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.caller: Caller = request.caller  # type: ignore[attr-defined]  # the middleware's
        if "project" in self.fields:
            self._offer_projects(request.projects, role)  # type: ignore[attr-defined]  # as above

    def _offer_projects(self, names: Mapping[Any, str], role: Role) -> None:
        able = [(str(pk), n) for pk, n in names.items() if self.caller.may(role, pk)]
        self.fields["project"].choices = able  # type: ignore[attr-defined]  # a choice

    def about(self) -> Iterable[Panel]:
        """What the form is about, above it."""
        return ()


class ProjectPageForm(PageForm):
    """A page about one project: one of those in which the person has the role."""

    project = forms.ChoiceField(widget=UnfoldAdminSelectWidget)


PageRenderer = Callable[[HttpRequest, Any], Iterable[Panel] | HttpResponse]
QueryFields = Mapping[str, object]
MAX_SELECTED = 100  # rows of a list that a page is about: their ids go into its address


def _no_query(row: Any) -> None:
    return None


@dataclass(frozen=True)
class AdminPage:
    """A door to one function: `form.apply()` calls it, `show` is what comes of it.

    What is typed stands in the address, unless it `posts`. The page of a row links
    here with the fields that `of_row` gives, or not at all for None; the chosen rows of
    a list lead here with those of `of_rows`.
    """

    name: str
    label: str
    role: Role
    form: type[PageForm]
    show: PageRenderer
    button: str
    about: str = ""
    posts: bool = False
    in_list: bool = True
    of_row: Callable[[Any], QueryFields | None] = _no_query
    of_rows: Callable[[Sequence[Any]], QueryFields] | None = None

    def bound(self, request: HttpRequest) -> PageForm:
        """The form: filled from the address, and answered once it has all it needs."""
        make = functools.partial(self.form, request=request, role=self.role)
        if self.posts:
            if request.method == "POST":
                return make(request.POST, request.FILES)
            return make(initial=request.GET.dict())
        form = make(initial=request.GET.dict())
        needed = [name for name, field in form.fields.items() if field.required]
        return make(request.GET) if request.GET.keys() >= set(needed) else form


class PagesAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    pages: Sequence[AdminPage] = ()

    list_before_template = "admin/links.html"

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"{page.name}/",
                self.admin_site.admin_view(functools.partial(self.page_view, page)),
                name=self._name(page),
            )
            for page in self.pages
        ]
        return [*own, *super().get_urls()]

    def _name(self, page: AdminPage) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page.name}"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = [
            self._link(page, {})
            for page in self.pages
            if page.in_list and self.may(request, page.role)
        ]
        answer: HttpResponse = super().changelist_view(
            request, {"links": links, **(extra_context or {})}
        )
        return answer

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        """The pages that the page of a row leads to."""
        given = [
            (page, page.of_row(row))
            for page in self.pages
            if self.may(request, page.role, row)
        ]
        return [self._link(page, asked) for page, asked in given if asked is not None]

    def _link(self, page: AdminPage, asked: QueryFields) -> dict[str, str]:
        return {"label": page.label, "url": self._address(page, asked)}

    def _address(self, page: AdminPage, asked: QueryFields) -> str:
        url = reverse(f"admin:{self._name(page)}")
        return f"{url}?{urlencode(asked)}" if asked else url

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {
            page.name: (self._action(page), page.name, f"{page.label}…")
            for page in self.pages
            if page.of_rows and self.may(request, page.role)
        }

    @staticmethod
    def _action(page: AdminPage) -> Callable[..., HttpResponse | None]:
        def go(
            self: PagesAdmin, request: HttpRequest, rows: QuerySet[Any]
        ) -> HttpResponse | None:
            chosen = list(rows[: MAX_SELECTED + 1])
            if len(chosen) > MAX_SELECTED:
                messages.error(request, f"Choose {MAX_SELECTED} rows at most.")
                return None
            assert page.of_rows
            return HttpResponseRedirect(self._address(page, page.of_rows(chosen)))

        return go

    def page_view(self, page: AdminPage, request: HttpRequest) -> HttpResponse:
        if not self.may(request, page.role):
            raise PermissionDenied
        form = page.bound(request)
        shown: Iterable[Panel] | HttpResponse = ()
        if form.is_valid():
            shown = page.show(request, form.saved)
        if isinstance(shown, HttpResponse):
            return shown
        context = {
            **self.admin_site.each_context(request),
            "title": page.label,
            "page": page,
            "form": form,
            "about": list(form.about()),
            "panels": list(shown),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/page.html", context)
