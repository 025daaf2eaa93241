"""The view base of the API: parse, call one function, answer in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.api import request_notes, throttling
from common.api.parsing import ReplacedText, content_length
from common.api.request_notes import RequestNotes
from common.api.serializers import NoFields, known_fields, validate
from common.caller import Caller
from common.pagination import IdCursorPagination
from common.unknown_fields import UnknownFields

# The called function masks or refuses the secrets in all fields of the body.
EVERY_FIELD = frozenset(["*"])


class AlwaysJSON(BaseContentNegotiation):
    """Answer in JSON, whatever the header Accept says."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((p for p in parsers if p.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """Parse the request, call one function, answer."""

    content_negotiation_class = AlwaysJSON
    # The methods that take an Idempotency-Key, for the schema.
    idempotent_methods: ClassVar[frozenset[str]] = frozenset({"POST"})
    # The methods that read `self.body`, and those that read `self.query`. For the other
    # methods, every field and every parameter is unknown.
    body_methods: ClassVar[frozenset[str]] = frozenset({"POST", "PUT", "PATCH"})
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET"})
    # The fields of the body in which the called function masks or refuses the secrets.
    self_guarded: ClassVar[frozenset[str]] = frozenset()
    # What the parameters of the path are, by name, for the schema.
    path_help: ClassVar[Mapping[str, str]] = {}
    # The list of the body whose items have results of their own.
    body_items: ClassVar[str] = ""

    @property
    def caller(self) -> Caller:
        caller = self.request.auth
        assert isinstance(caller, Caller)
        return caller

    @property
    def body_as_sent(self) -> Any:
        """Return the parsed body before characters were replaced that cannot be stored."""
        data, replaced = self.request.data, self.replaced_text
        return replaced.body_as_sent if replaced else data

    @property
    def replaced_text(self) -> ReplacedText | None:
        return getattr(self.request._request, "replaced_text", None)

    @cached_property
    def notes(self) -> RequestNotes:
        """What the answer says about its request."""
        return RequestNotes(self.body_items)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = "GET" if request.method == "HEAD" else request.method
        if method not in self.query_methods:
            self.query(NoFields)
        if method not in self.body_methods and int(content_length(request) or 0):
            self.body(NoFields)

    def body(
        self,
        serializer: type[serializers.Serializer[Any]],
        *,
        row: type[serializers.Serializer[Any]] | None = None,
    ) -> dict[str, Any]:
        """Return the validated body; a refusal names every wrong and unknown field at once.

        `row` is the serializer of the row that a PATCH changes. The fields that only the
        row has are read-only.
        """
        data = self.mask_secrets(self.request.data, self.self_guarded)
        unknown = UnknownFields.find(known_fields(serializer, row), data)
        return validate(serializer, data, self.accept_unknown(unknown))

    def mask_secrets(self, data: Any, kept: frozenset[str] = frozenset()) -> Any:
        """Return a body or a query without secrets; a view of projects overrides it."""
        return data

    def body_item(
        self,
        serializer: type[serializers.Serializer[Any]],
        item: Any,
        position: int | None = None,
    ) -> dict[str, Any]:
        """Return one validated item of a list, with its position in `body_items`."""
        unknown = UnknownFields.find(known_fields(serializer), item)
        return validate(serializer, item, self.accept_unknown(unknown, position))

    def query(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        data = self.mask_secrets(self.request.query_params)
        unknown = UnknownFields.find(known_fields(serializer), data, "query")
        return validate(serializer, data, self.accept_unknown(unknown))

    def accept_unknown(
        self, unknown: UnknownFields, item: int | None = None
    ) -> UnknownFields:
        """Return the unknown fields to refuse; with UNKNOWN_FIELDS=note, note them instead."""
        if not unknown:
            return unknown
        mode = settings.UNKNOWN_FIELDS
        request_notes.log_unknown(self.request._request, unknown, mode)
        if mode == "refuse":
            return unknown
        self.notes.add_unknown(unknown, item)
        return UnknownFields()

    def page(
        self,
        rows: QuerySet[Any],
        serializer: type[serializers.BaseSerializer[Any]],
        *,
        context: Mapping[str, Any] | None = None,
        oldest_first: bool = False,
        limit: int | None = None,
    ) -> Response:
        """Answer one page of rows, newest first: {"results", "next", "previous"}."""
        paginator = IdCursorPagination(oldest_first=oldest_first, limit=limit)
        results = paginator.paginate_queryset(rows, self.request, view=self)
        own = {"request": self.request, "caller": self.caller}
        data = serializer(results, many=True, context={**own, **(context or {})}).data
        return paginator.get_paginated_response(data)

    def finalize_response(  # type: ignore[override]  # a problem is no DRF response
        self,
        request: Request | HttpRequest,
        response: HttpResponseBase,
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponseBase:
        self.add_notes(response)
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]  # as above
        throttling.set_headers(request, response)
        return response

    def add_notes(self, response: HttpResponseBase) -> None:
        """Say in the answer what was replaced in the request or left out of it."""
        if self.replaced_text:
            self.notes.add_replaced(self.replaced_text.paths)
        if self.notes.unknown_paths:
            response[request_notes.HEADER] = self.notes.header
        if not isinstance(response, Response) or not isinstance(response.data, dict):
            return
        # A list is read as pages of rows; it has notes only where its schema says so.
        if self.request.method != "GET" or "notes" in response.data:
            self.notes.add_to(response.data)
