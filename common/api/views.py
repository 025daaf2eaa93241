"""The view base of the API: parse, call one function, answer in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.api import throttling
from common.api.serializers import validate
from common.caller import Caller
from common.pagination import IdCursorPagination


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

    @property
    def caller(self) -> Caller:
        caller = self.request.auth
        assert isinstance(caller, Caller)
        return caller

    def body(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """Return the validated body; a refusal names every wrong field at once."""
        return validate(serializer, self.request.data)

    def query(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        return validate(serializer, self.request.query_params)

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
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]  # as above
        throttling.set_headers(request, response)
        return response
