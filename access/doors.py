"""What every door of the API shares: parse, call one function, answer."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from access import idempotency, refusals, throttling
from common import errors
from common.caller import Caller, Role
from common.pagination import LARGEST, LIMIT, IdCursorPagination
from common.problem import field_errors
from projects import finding
from projects.models import Project


class InProject(serializers.Serializer[Any]):
    """Mix in where a body or a query names its project; see `Door.project`."""

    project_id = serializers.CharField(
        max_length=200, help_text="The project's id, or its name."
    )
    project = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Another name of `project_id`; either of the two is enough.",
    )

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        if data.get("project_id") is None and data.get("project") is not None:
            data = data.copy()  # type: ignore[attr-defined]  # a dict or a QueryDict
            data["project_id"] = data["project"]
        return super().to_internal_value(data)


class NullIsAbsent(serializers.Serializer[Any]):
    """Mix in where a field that may be left out may as well be null: agents send that."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            field.allow_null = not field.required
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            optional = {name for name, field in self.fields.items() if field.allow_null}
            data = {
                name: value
                for name, value in data.items()
                if value is not None or name not in optional
            }
        return super().to_internal_value(data)


class PageQuery(serializers.Serializer[Any]):
    """Mix in where a query asks for a page; `Door.page` reads both by itself."""

    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, default=LIMIT
    )
    cursor = serializers.CharField(
        required=False, help_text="Taken from `next` or `previous` of another page."
    )


def shown(kind: type[serializers.Serializer[Any]], value: object) -> Any:
    """What a serializer that reads no context makes of a value."""
    return _instance(kind).to_representation(value)


def validated(kind: type[serializers.Serializer[Any]], given: Any) -> dict[str, Any]:
    """What a serializer reads out of a body or a query; raises Invalid."""
    form = _instance(kind)
    try:
        data: dict[str, Any] = form.run_validation(given)
    except serializers.ValidationError as error:
        raise errors.Invalid(errors=field_errors(error.detail, form)) from None
    return data


@functools.cache
def _instance(kind: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """One for every request: to make its fields takes longer than to use them."""
    return kind()


@functools.cache
def page_of(
    results: type[serializers.BaseSerializer[Any]],
) -> type[serializers.Serializer[Any]]:
    """The serializer of a page of results, for the schema."""
    name = results.__name__.removesuffix("Serializer")
    return type(
        f"{name}PageSerializer",
        (serializers.Serializer,),
        {
            "results": results(many=True),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
        },
    )


class AlwaysJSON(BaseContentNegotiation):
    """One format: whatever Accept says, the answer is JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next((p for p in parsers if p.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


class Door(APIView):
    """Parse, call one function, answer."""

    content_negotiation_class = AlwaysJSON
    # The role in the project in question, asked for by `project()`.
    needs: ClassVar[dict[str, Role]] = {
        "GET": Role.VIEWER,
        "POST": Role.WRITER,
        "PATCH": Role.WRITER,
        "PUT": Role.WRITER,
        "DELETE": Role.WRITER,
    }
    # The methods that take an Idempotency-Key, for the schema.
    keyed: ClassVar[frozenset[str]] = frozenset({"POST"})

    # For the audit row of a refusal.
    asked_project: uuid.UUID | None = None

    @property
    def caller(self) -> Caller:
        caller = self.request.auth
        assert isinstance(caller, Caller)
        return caller

    def body(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The validated body; refused with every field's error at once."""
        return validated(serializer, self.request.data)

    def query(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        return validated(serializer, self.request.query_params)

    def project(self, data: Mapping[str, Any], role: Role | None = None) -> Project:
        """The project that `project_id` or `project` names, by id or by name.

        404 when the caller cannot see it, 403 when its role is too low there.
        """
        named = str(data.get("project_id") or data.get("project") or "")
        if not named:
            raise errors.Invalid(errors={"project_id": ["This field is required."]})
        found = finding.project(named, self.caller)
        self.asked_project = found.pk
        throttling.charge_project(self.request, found.pk)
        needed = role or self.needs.get(self.request.method or "", Role.VIEWER)
        self.caller.require(needed, found.pk)
        return found

    def page(
        self,
        rows: QuerySet[Any],
        serializer: type[serializers.BaseSerializer[Any]],
        *,
        context: Mapping[str, Any] | None = None,
        oldest_first: bool = False,
        limit: int | None = None,
    ) -> Response:
        """One page of rows, newest first: {"results", "next", "previous"}."""
        pages = IdCursorPagination(oldest_first=oldest_first, limit=limit)
        found = pages.paginate_queryset(rows, self.request, view=self)
        given = {"request": self.request, "caller": self.caller, **(context or {})}
        return pages.get_paginated_response(
            serializer(found, many=True, context=given).data
        )

    def once(
        self,
        project_id: uuid.UUID | None,
        act: Callable[[], tuple[int, Mapping[str, Any]]],
        *,
        hidden: tuple[str, ...] = (),
    ) -> Response:
        """Act, and with an Idempotency-Key act only the first time it is sent.

        The key's row, the write and its answer are one transaction: a refusal
        stores nothing. Fields in `hidden` are null when the answer is given again.
        """
        ticket = self.ticket(project_id)
        if ticket is None:
            status, answer = act()
            return Response(answer, status)
        done = idempotency.once(ticket, act, hidden=hidden)
        return self._answer(done)

    def replayed(self, project_id: uuid.UUID | None) -> Response | None:
        """The answer given before, for a door whose preparation is slow."""
        ticket = self.ticket(project_id)
        stored = idempotency.replay(ticket) if ticket else None
        if stored is None:
            return None
        if stored.status is None:
            raise idempotency.IdempotencyRunning
        return self._answer(stored)

    def ticket(self, project_id: uuid.UUID | None) -> idempotency.Ticket | None:
        """What the Idempotency-Key of this request stands for; None without one."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        match = self.request.resolver_match
        return idempotency.ticket(
            self.caller,
            route=f"{self.request.method} {match.route if match else ''}",
            path=self.request.get_full_path(),
            project_id=project_id,
            key=key,
            body=self.request.data,
        )

    def _answer(self, done: idempotency.Answer) -> Response:
        headers = {"Idempotent-Replay": "true"} if done.is_replay else None
        return Response(done.body, done.status, headers=headers)

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a problem is no DRF response
        response: HttpResponseBase = super().handle_exception(exc)
        refusals.note(self.request, response, self.asked_project)
        return response

    def finalize_response(  # type: ignore[override]  # as above
        self,
        request: Request | HttpRequest,
        response: HttpResponseBase,
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponseBase:
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]  # as above
        throttling.tell(request, response)
        return response
