"""Filters of admin lists: by project, and by exact values that an index knows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import DropdownFilter, RangeDateFilter, TextFilter

from common.text import plain_text


def filter_typed(rows: QuerySet[Any], **lookups: Any) -> QuerySet[Any]:
    """Filter by what a person typed; what cannot be a value of the column fits none."""
    if any(
        isinstance(v, str) and plain_text.find_unstorable(v) for v in lookups.values()
    ):
        return rows.none()
    try:
        return rows.filter(**lookups)
    except (ValueError, ValidationError):
        return rows.none()


class ProjectFilter(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    """The projects that the person may see, and no other one's name."""

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
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen not in dict(self.lookup_choices):
            return queryset.none()
        return queryset.filter(**{self.path: chosen})

    def has_output(self) -> bool:
        return True


class ExactFilter(TextFilter):  # type: ignore[misc]  # unfold is untyped
    """A typed value that a column equals; `exactly(...)` makes them."""

    lookup: str

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        typed = (self.value() or "").strip()
        if not typed:
            return None
        return filter_typed(queryset, **{self.lookup: self.wanted(typed)})

    def wanted(self, typed: str) -> Any:
        return typed


class TagFilter(ExactFilter):
    title = "tag"
    parameter_name = "tag"
    lookup = "tags__contains"

    def wanted(self, typed: str) -> list[str]:
        return [
            tag.strip() for tag in typed.replace("\0", "").split(",") if tag.strip()
        ]


def exact_filter(column: str, title: str = "", *, name: str = "") -> type[ExactFilter]:
    return type(
        "Exactly",
        (ExactFilter,),
        {
            "title": title or column.replace("_", " "),
            "parameter_name": name or column,
            "lookup": column,
        },
    )


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    """One of a column's own choices, or of a given list: `chosen(...)` makes them."""

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
        "Chosen",
        (ChoiceFilter,),
        {
            "title": title or column.replace("_", " "),
            "parameter_name": name or column,
            "lookup": column,
            "options": tuple((str(value), str(label)) for value, label in options),
        },
    )


class DaysFilter(RangeDateFilter):  # type: ignore[misc]  # unfold is untyped
    """From one day to another, both whole, in the reader's time zone."""

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        start, end = day_bounds(self.used_parameters, self.parameter_name)
        if start:
            queryset = queryset.filter(**{f"{self.parameter_name}__gte": start})
        if end:
            queryset = queryset.filter(**{f"{self.parameter_name}__lte": end})
        return queryset


def day_bounds(
    asked: Mapping[str, Any], column: str
) -> tuple[datetime | None, datetime | None]:
    """The first and the last moment that a query string asks for."""
    start = _day_moment(asked.get(f"{column}_from"), time.min)
    return start, _day_moment(asked.get(f"{column}_to"), time.max)


def _day_moment(day: Any, at: time) -> datetime | None:
    try:
        return timezone.make_aware(datetime.combine(date.fromisoformat(day), at))
    except (TypeError, ValueError):
        return None
