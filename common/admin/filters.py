"""Filters of admin lists: by project, and by exact values that an index can find."""

from __future__ import annotations

import uuid
from datetime import date, datetime, time
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import DropdownFilter, RangeDateFilter, TextFilter

from common.text import comma_list, plain_text


def filter_input(rows: QuerySet[Any], **lookups: Any) -> QuerySet[Any]:
    """Filter by a person's input; input that is no valid value of the column matches no row."""
    if any(
        isinstance(v, str) and plain_text.find_unstorable(v) for v in lookups.values()
    ):
        return rows.none()
    try:
        return rows.filter(**lookups)
    except (ValueError, ValidationError):
        return rows.none()


class ProjectFilter(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    """Filter by one of the projects that the person may see; do not show other projects."""

    title = "project"
    parameter_name = "project"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> list[tuple[str, str]]:
        self.path: str = model_admin.project_path  # type: ignore[attr-defined]  # RowsAdmin's
        projects: dict[uuid.UUID, str] = request.projects  # type: ignore[attr-defined]  # the middleware's
        return [(str(pk), name) for pk, name in projects.items()]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        value = self.value()
        if not value:
            return queryset
        if value not in dict(self.lookup_choices):
            return queryset.none()
        return queryset.filter(**{self.path: value})

    def has_output(self) -> bool:
        return True


class ExactFilter(TextFilter):  # type: ignore[misc]  # unfold is untyped
    """Filter by a column's exact value; `exact_filter(...)` makes subclasses."""

    lookup: str

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        text = (self.value() or "").strip()
        if not text:
            return None
        return filter_input(queryset, **{self.lookup: self.parse(text)})

    def parse(self, text: str) -> Any:
        return text


class TagFilter(ExactFilter):
    title = "tag"
    parameter_name = "tag"
    lookup = "tags__contains"

    def parse(self, text: str) -> list[str]:
        return comma_list.split(text.replace("\0", ""))


def exact_filter(column: str, title: str = "", *, name: str = "") -> type[ExactFilter]:
    return type(
        "ColumnFilter",
        (ExactFilter,),
        {
            "title": title or column.replace("_", " "),
            "parameter_name": name or column,
            "lookup": column,
        },
    )


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    """Filter by one of a list of values; `choice_filter(...)` makes subclasses."""

    lookup: str
    options: tuple[tuple[str, str], ...]

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> tuple[tuple[str, str], ...]:
        return self.options

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        value = self.value()
        if not value:
            return None
        if value not in dict(self.options):
            return queryset.none()
        return queryset.filter(**{self.lookup: value})


def choice_filter(
    column: str, options: Any, title: str = "", *, name: str = ""
) -> type[ChoiceFilter]:
    return type(
        "ColumnChoiceFilter",
        (ChoiceFilter,),
        {
            "title": title or column.replace("_", " "),
            "parameter_name": name or column,
            "lookup": column,
            "options": tuple((str(value), str(label)) for value, label in options),
        },
    )


class DaysFilter(RangeDateFilter):  # type: ignore[misc]  # unfold is untyped
    """Filter by a range of whole days, in the reader's time zone."""

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        name, asked = self.parameter_name, self.used_parameters
        if start := _moment_of(asked.get(f"{name}_from"), time.min):
            queryset = queryset.filter(**{f"{name}__gte": start})
        if end := _moment_of(asked.get(f"{name}_to"), time.max):
            queryset = queryset.filter(**{f"{name}__lte": end})
        return queryset


def _moment_of(day: Any, at: time) -> datetime | None:
    try:
        return timezone.make_aware(datetime.combine(date.fromisoformat(day), at))
    except (TypeError, ValueError):
        return None
