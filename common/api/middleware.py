"""Middleware that forbids stored answers, and turns every error under /api into a problem."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import is_valid_path

from common import errors
from common.api import parsing, problem
from common.unknown_fields import shorten

PREFIX = "/api/"
PAGES = "/admin"
VERSION_HEADER = "X-Agent-Memory-Version"
NO_ROW = str(uuid.UUID(int=0))


class NoStoreMiddleware:
    """Forbid browsers and proxies to keep an answer; static files have their own rule.

    Every answer of the API, and every page, may contain what only its caller may see.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        path = request.path_info
        if path.startswith(PAGES):
            response["Cache-Control"] = "private, no-store"
        elif not path.startswith(settings.STATIC_URL):
            response["Cache-Control"] = "no-store"
        return response


class VersionMiddleware:
    """Answer a client that names its version with the version of the service.

    Nobody else is told which version runs here.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if VERSION_HEADER in request.headers:
            response[VERSION_HEADER] = settings.VERSION
        return response


class MalformedIdMiddleware:
    """Answer a path with a malformed id as a path whose id no row has.

    A malformed id matches no route. The route is therefore called with an id that no row
    has, so that the caller gets the same answer for both.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code != 404 or request.resolver_match:
            return response
        for path, malformed in _paths_with_id(request.path_info):
            if is_valid_path(path):
                request.path_info = path
                return self._answer(request, malformed)
        return response

    def _answer(self, request: HttpRequest, malformed: str) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code != 404:
            return response
        shown = shorten(malformed)
        refusal: errors.Refusal = errors.NotFound(f"{shown!r} is the id of no row.")
        if problem.names_error(request.resolver_match):
            refusal = problem.add_error_member(refusal)
        return problem.ProblemResponse(refusal)


def _paths_with_id(path: str) -> Iterator[tuple[str, str]]:
    """Yield a path with each segment replaced by an id, and the replaced segment."""
    segments = path.removeprefix(PREFIX).split("/")
    for position, segment in enumerate(segments):
        if path.startswith(PREFIX) and segment:
            replaced = [*segments[:position], NO_ROW, *segments[position + 1 :]]
            yield PREFIX + "/".join(replaced), segment


class ProblemMiddleware:
    """Answer every error under /api with a problem.

    Errors that reach no view, and faults of the service, are answered so too.

    This middleware is inside the request log, so that the request's id is known. It is
    outside the other middleware, because Django answers their errors with HTML.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            parsing.refuse_request(request)
        except errors.Refusal as refusal:
            return problem.ProblemResponse(refusal)
        response = self.get_response(request)
        is_covered = request.path_info.startswith(PREFIX)
        if not is_covered or response.status_code < 400:
            return response
        if response.get("Content-Type", "") == problem.MEDIA_TYPE:
            return response
        return self.to_problem(response, request)

    @staticmethod
    def to_problem(
        response: HttpResponseBase, request: HttpRequest
    ) -> HttpResponseBase:
        refusal = problem.problem_for_status(response.status_code)
        if problem.names_error(request.resolver_match):
            refusal = problem.add_error_member(refusal)
        result = problem.ProblemResponse(refusal)
        result.status_code = response.status_code
        for name in ("Allow", "Retry-After", "WWW-Authenticate"):
            if name in response and name not in result:
                result[name] = response[name]
        return result
