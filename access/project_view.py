"""The view base for requests about a project: roles, idempotency, audited refusals."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.http import HttpResponseBase, QueryDict
from django.utils.datastructures import MultiValueDict
from rest_framework.response import Response

from access import idempotency, refusals
from common import errors
from common.api import problem, throttling
from common.api.views import EVERY_FIELD, ApiView
from common.caller import Role
from projects import project_lookup, secret_policy
from projects.models import Project


class ProjectView(ApiView):
    """Find a request's project, check the caller's role, and act once per Idempotency-Key."""

    # The role that each method needs in the project; `project()` checks it.
    required_roles: ClassVar[dict[str, Role]] = {
        "GET": Role.VIEWER,
        "POST": Role.WRITER,
        "PATCH": Role.WRITER,
        "PUT": Role.WRITER,
        "DELETE": Role.WRITER,
    }

    # The project of the audit row, if the request is refused.
    audited_project: uuid.UUID | None = None

    def project(self, data: Mapping[str, Any], role: Role | None = None) -> Project:
        """Return the project that `project_id` or `project` names, by id or by name.

        Refuse with 404 if the caller cannot see the project, and with 403 if the caller's
        role in the project is too low.
        """
        id_or_name = str(data.get("project_id") or data.get("project") or "")
        if not id_or_name:
            raise errors.Invalid(errors={"project_id": ["This field is required."]})
        project = project_lookup.find_project(id_or_name, self.caller)
        self.audited_project = project.pk
        self._refuse_other_project(project, str(data.get("project") or id_or_name))
        throttling.charge_project(self.request, project.pk)
        method = self.request.method or ""
        required = role or self.required_roles.get(method, Role.VIEWER)
        self.caller.require(required, project.pk)
        return project

    def _refuse_other_project(self, project: Project, id_or_name: str) -> None:
        """Refuse a `project` that is not the project that `project_id` names."""
        if id_or_name in (str(project.pk), project.name):
            return
        if project_lookup.find_project(id_or_name, self.caller).pk != project.pk:
            message = "It names another project than `project_id`; send one of the two."
            raise errors.Invalid(errors={"project": [message]})

    def mask_secrets(self, data: Any, kept: frozenset[str] = frozenset()) -> Any:
        """Mask the secrets of a body or a query, unless the project refuses or allows them.

        The fields `kept` are for a function that applies the project's rule itself.
        """
        if kept is EVERY_FIELD:
            return data
        # Of a parameter that is repeated, `items()` has the last value only.
        sent = dict(data.lists()) if isinstance(data, QueryDict) else data
        rest = {name: value for name, value in sent.items() if name not in kept}
        masked, kinds = secret_policy.guard("mask", rest)
        if not kinds:
            return data
        mode = self._secret_mode(data)
        if mode == "allow":
            return data
        if mode == "reject":
            secret_policy.refuse(kinds)
        self.notes.add(secret_policy.describe(kinds))
        if isinstance(data, QueryDict):
            return MultiValueDict(masked)
        return masked | {name: data[name] for name in kept & set(data)}

    def _secret_mode(self, data: Mapping[str, Any]) -> str:
        """Return the setting of the project that a request names, or of the row's project."""
        id_or_name = self.kwargs.get("project_id") or data.get("project_id")
        id_or_name = id_or_name or data.get("project") or self.row_project()
        if not id_or_name:
            return "mask"
        id_or_name = str(id_or_name)
        return project_lookup.find_project(id_or_name, self.caller).options.secrets

    def row_project(self) -> uuid.UUID | None:
        """Return the project of the row that the URL names, if the caller may see it.

        A view overrides it whose requests name a row and no project.
        """
        return self.audited_project

    def run_once(
        self,
        project_id: uuid.UUID | None,
        act: Callable[[], tuple[int, Mapping[str, Any]]],
        *,
        hidden: tuple[str, ...] = (),
    ) -> Response:
        """Call `act`; if the request has an Idempotency-Key, call `act` only the first time.

        One transaction stores the key's row, the write and the answer. A refusal therefore
        stores nothing. Fields in `hidden` are null when the answer is replayed.
        """
        identity = self.request_identity(project_id)
        if identity is None:
            status, answer = act()
            return self._build_response(answer, status)
        return self._respond(idempotency.run_once(identity, act, hidden=hidden))

    def replay(self, project_id: uuid.UUID | None) -> Response | None:
        """Return the stored answer, if any, before a slow preparation begins."""
        identity = self.request_identity(project_id)
        stored = idempotency.replay(identity) if identity else None
        if stored is None:
            return None
        if stored.status is None:
            raise idempotency.IdempotencyRunning
        return self._respond(stored)

    def request_identity(
        self, project_id: uuid.UUID | None
    ) -> idempotency.RequestIdentity | None:
        """Return the identity of the Idempotency-Key; None if the request has no key."""
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
            body=self.body_as_sent,
        )

    def _respond(self, answer: idempotency.StoredAnswer) -> Response:
        headers = {"Idempotent-Replay": "true"} if answer.is_replay else None
        return self._build_response(answer.body, answer.status, headers)

    @staticmethod
    def _build_response(
        body: Any, status: int | None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Build the response; an answer that refuses is a problem like any other refusal."""
        refuses = status is not None and status >= 400
        content_type = problem.MEDIA_TYPE if refuses else None
        return Response(body, status, headers=headers, content_type=content_type)

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a problem is no DRF response
        response: HttpResponseBase = super().handle_exception(exc)
        refusals.audit_refusal(self.request, response, self.audited_project)
        return response
