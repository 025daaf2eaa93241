"""What every door of the API shares: parse, call one function, answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from access import idempotency, refusals
from common import errors
from common.api import throttling
from common.api.serializers import validate
from common.api.views import AlwaysJSON
from common.caller import Caller, Role
from common.pagination import IdCursorPagination
from projects import project_lookup
from projects.models import Project


class ProjectView(APIView):
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
        return validate(serializer, self.request.data)

    def query(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        return validate(serializer, self.request.query_params)

    def project(self, data: Mapping[str, Any], role: Role | None = None) -> Project:
        """The project that `project_id` or `project` names, by id or by name.

        404 when the caller cannot see it, 403 when its role is too low there.
        """
        named = str(data.get("project_id") or data.get("project") or "")
        if not named:
            raise errors.Invalid(errors={"project_id": ["This field is required."]})
        found = project_lookup.find_project(named, self.caller)
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
        done = idempotency.run_once(ticket, act, hidden=hidden)
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

    def ticket(
        self, project_id: uuid.UUID | None
    ) -> idempotency.RequestIdentity | None:
        """What the Idempotency-Key of this request stands for; None without one."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        match = self.request.resolver_match
        return idempotency.identify_request(
            self.caller,
            route=f"{self.request.method} {match.route if match else ''}",
            path=self.request.get_full_path(),
            project_id=project_id,
            key=key,
            body=self.request.data,
        )

    def _answer(self, done: idempotency.StoredAnswer) -> Response:
        headers = {"Idempotent-Replay": "true"} if done.is_replay else None
        return Response(done.body, done.status, headers=headers)

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a problem is no DRF response
        response: HttpResponseBase = super().handle_exception(exc)
        refusals.audit_refusal(self.request, response, self.asked_project)
        return response

    def finalize_response(  # type: ignore[override]  # as above
        self,
        request: Request | HttpRequest,
        response: HttpResponseBase,
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponseBase:
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]  # as above
        throttling.set_headers(request, response)
        return response
