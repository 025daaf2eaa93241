"""Who is asking: built once at the door, passed to every function that reads or writes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import models

from common import errors


class Role(models.IntegerChoices):
    """One vocabulary for people and keys; each role may do what those below it may."""

    VIEWER = 1, "viewer"
    WRITER = 2, "writer"
    CURATOR = 3, "curator"
    OWNER = 4, "owner"


@dataclass(frozen=True)
class Caller:
    """A person or a key, with the role it has in each project.

    `everywhere` is the role in every project of the installation, if there is one.
    A caller bound to `agent_id` may only write as that agent; one bound to `user_id`
    reaches user and session scopes of that user only.
    """

    name: str
    everywhere: Role | None = None
    roles: Mapping[uuid.UUID, Role] = field(default_factory=dict)
    key_id: uuid.UUID | None = None
    account_id: int | None = None
    agent_id: str = ""
    user_id: str = ""
    request_id: str = ""
    address: str = ""

    def role_in(self, project_id: uuid.UUID) -> Role | None:
        return self.everywhere or self.roles.get(project_id)

    def may(self, role: Role, project_id: uuid.UUID) -> bool:
        held = self.role_in(project_id)
        return held is not None and held >= role

    def require(self, role: Role, project_id: uuid.UUID) -> None:
        """Refuse with 404 what the caller cannot see, with 403 what it may not do."""
        if self.role_in(project_id) is None:
            raise errors.NotFound
        if not self.may(role, project_id):
            raise errors.Forbidden(
                f"This needs the role {role.label}; "
                f"{self.name} has {self.role_in(project_id).label}."  # type: ignore[union-attr]  # None left above
            )

    def require_unbound(
        self, role: Role, project_id: uuid.UUID, *, action: str
    ) -> None:
        """As `require`, for what reaches the memories of all users of a project."""
        self.require(role, project_id)
        if self.user_id:
            raise errors.Forbidden(
                f"A key that is bound to a user cannot {action}; "
                "ask an owner of the project."
            )

    def agent_id_for(self, agent_id: str) -> str:
        """The agent id to write under; a bound key cannot use another one."""
        if self.agent_id and agent_id and agent_id != self.agent_id:
            raise AgentMismatch
        return self.agent_id or agent_id or self.name


class AgentMismatch(errors.Refusal):
    """This key is bound to another agent_id; leave agent_id out, or use its own."""

    status = 403
    code = "agent_mismatch"


SYSTEM = Caller(name="system", everywhere=Role.OWNER)
