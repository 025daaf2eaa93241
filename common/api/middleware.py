from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from common import errors
from common.api import parsing, problem

PREFIX = "/api/"


class ProblemMiddleware:
    """Under /api every error is a problem, also those that no door has seen.

    Inside the request log, so that the request's id is known; outside the rest of
    the middleware, whose errors Django answers with pages of HTML.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            parsing.refuse_request(request)
        except errors.Refusal as refusal:
            return problem.ProblemResponse(refusal)
        response = self.get_response(request)
        if not request.path_info.startswith(PREFIX) or response.status_code < 400:
            return response
        if response.get("Content-Type", "").startswith(problem.MEDIA_TYPE):
            return response
        return self.replaced(response)

    @staticmethod
    def replaced(response: HttpResponseBase) -> HttpResponseBase:
        clean = problem.ProblemResponse(
            problem.problem_for_status(response.status_code)
        )
        clean.status_code = response.status_code
        for name in ("Allow", "Retry-After", "WWW-Authenticate"):
            if name in response and name not in clean:
                clean[name] = response[name]
        return clean
