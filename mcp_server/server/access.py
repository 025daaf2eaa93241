"""Find the caller and the project of a request of an MCP client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import APIException

from access import refusals
from access.authentication import KeyAuthentication
from common import errors
from common.api import problem, throttling
from common.caller import Caller
from projects import project_lookup
from projects.models import Project


class ProjectUnnamed(errors.Refusal):
    """The key reads several projects or all; name one in the address: /mcp/{project}."""

    code = "project_unnamed"


@dataclass(frozen=True)
class ProjectAccess:
    """Who calls, and in which project."""

    caller: Caller
    project: Project


def authenticate(request: HttpRequest) -> HttpResponse | None:
    """Remember who calls in which project, or return the refusal.

    The only credentials are API keys: a browser sends none by itself.
    """
    try:
        request.project_access = find(request)  # type: ignore[attr-defined]  # read by access_of
    except (errors.Refusal, APIException, DatabaseError) as error:
        refusal = problem.refusal_for(error)
        if refusal is None:
            raise
        response = problem.ProblemResponse(refusal)
        refusals.audit_refusal(request, response)
        return response
    return None


def find(request: HttpRequest) -> ProjectAccess:
    """Count the request against the rates of its key and its project."""
    found = KeyAuthentication().authenticate(request)  # type: ignore[arg-type]  # it reads META only
    if found is None:
        throttling.charge_address(request)
        raise problem.Unauthenticated
    caller = found[1]
    request._auth = caller  # type: ignore[attr-defined]  # where refusals.audit_refusal reads it
    throttling.charge_caller(request, caller)
    project = project_lookup.find_project(_named_project(request, caller), caller)
    throttling.charge_project(request, project.pk)
    return ProjectAccess(caller, project)


def _named_project(request: HttpRequest, caller: Caller) -> str:
    match = request.resolver_match
    named = match.kwargs.get("project") if match else None
    if not (named or caller.only_project):
        raise ProjectUnnamed
    return str(named or caller.only_project)


def access_of(request: Any) -> ProjectAccess:
    access: ProjectAccess = request.project_access
    return access
