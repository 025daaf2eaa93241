"""Answer for the parts of mem0's platform that this service does not have."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from common.caller import Role
from mcp_server.mem0.refusals import MissingFeature
from mcp_server.mem0.views.view import Mem0View

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


class MissingFeatureView(Mem0View):
    """Refuse every method, and say what to use instead."""

    query_methods: ClassVar[frozenset[str]] = METHODS
    body_methods: ClassVar[frozenset[str]] = METHODS
    required_roles: ClassVar[dict[str, Role]] = dict.fromkeys(METHODS, Role.VIEWER)
    # What to use instead.
    mend: str = ""

    def get(self, request: Request, **kwargs: Any) -> Response:
        self.audited_project = self.door_project.pk  # refuses who may not see it
        raise MissingFeature(self.mend)

    post = put = patch = delete = get
