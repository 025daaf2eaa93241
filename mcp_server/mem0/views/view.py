"""The base of the views of mem0's HTTP API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from access.authentication import KeyAuthentication
from access.project_view import ProjectView
from common.api import problem
from mcp_server.mem0.refusals import refuse_options
from mcp_server.mem0.serializers import OptionsBody
from mcp_server.server.access import ProjectUnnamed
from projects.models import Project


class TokenAuthentication(KeyAuthentication):
    """`Authorization: Token am_…`, as mem0's clients send it, or `Bearer am_…`"""

    schemes = frozenset({"token", "bearer"})


class Mem0View(ProjectView):
    """A view of the one project of the key, or of the project that the address names."""

    authentication_classes: Sequence[type[BaseAuthentication]] = (TokenAuthentication,)
    schema = None  # docs/mem0.md describes these routes, and mem0 defines them

    @cached_property
    def door_project(self) -> Project:
        """Return the project; refuse a caller whose role in it is too low."""
        in_host = self.kwargs.get("project")
        named = self.kwargs.get("project_id") or in_host or self.caller.only_project
        if not named:
            raise ProjectUnnamed(
                "The key reads several projects or all; name one in the host: "
                f"{self.request.build_absolute_uri('/mem0/')}{{project}}."
            )
        # Refuses a host and a path that name two projects.
        return self.project({"project_id": str(named), "project": in_host})

    def _secret_mode(self, data: Mapping[str, Any]) -> str:
        return self.door_project.options.secrets

    def read_options(self, form: type[OptionsBody]) -> dict[str, Any]:
        """Return the validated body; first refuse the options without a counterpart."""
        refuse_options(self.request.data, form.unsupported)
        return self.body(form)

    def numbered_page(
        self, page: Mapping[str, int], count: int, results: Sequence[Any]
    ) -> Response:
        """Answer the page `page` of `page_size` rows, of `count` rows in all."""
        number, is_last = page["page"], page["page"] * page["page_size"] >= count
        return Response(
            {
                "count": count,
                "next": None if is_last else self._address_of_page(number + 1),
                "previous": self._address_of_page(number - 1) if number > 1 else None,
                "results": results,
            }
        )

    def _address_of_page(self, number: int) -> str:
        address = self.request.build_absolute_uri()
        return str(replace_query_param(address, "page", number))

    def finalize_response(  # type: ignore[override]  # a problem is no DRF response
        self,
        request: Request | HttpRequest,
        response: HttpResponseBase,
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponseBase:
        """Send a problem as plain JSON: mem0's client reads no other type."""
        final = super().finalize_response(request, response, *args, **kwargs)
        if final.headers.get("Content-Type") == problem.MEDIA_TYPE:
            final.headers["Content-Type"] = "application/json"
        return final
