"""The caller of a request, and the caller's roles.

A view builds the caller once and passes the caller to every function that reads or writes.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import models

from common import errors

# The key of a request's META under which the web server finds the share of an admitted caller.
SHARE = "memory.share"


class Role(models.IntegerChoices):
    """The roles of people and keys; each role includes the rights of those below it."""

    VIEWER = 1, "viewer"
    WRITER = 2, "writer"
    CURATOR = 3, "curator"
    OWNER = 4, "owner"


@dataclass(frozen=True)
class Caller:
    """A person or a key, with a role in each project.

    `everywhere` is a role in all projects of the installation. A caller that is bound to
    `agent_id` writes only as that agent. A caller that is bound to `user_id` reaches only
    the user and session scopes of that user.

    `line_id` names the first key of a line of rotations, so that a rotated key stays the
    same caller. `root_line_id` names the line of the key that issued the key, or of that
    key's issuer, back to the first. `key_account_id` is the account that holds the secret
    of the key.
    """

    name: str
    everywhere: Role | None = None
    roles: Mapping[uuid.UUID, Role] = field(default_factory=dict)
    key_id: uuid.UUID | None = None
    line_id: uuid.UUID | None = None
    root_line_id: uuid.UUID | None = None
    account_id: int | None = None
    key_account_id: int | None = None
    may_attest: bool = False
    acts_for_users: bool = False
    agent_id: str = ""
    user_id: str = ""
    request_id: str = ""
    address: str = ""

    @property
    def share(self) -> str:
        """Return the name under which limits count the caller: a key with its rotations."""
        return f"key:{self.line_id}" if self.line_id else self.name

    def role_in(self, project_id: uuid.UUID) -> Role | None:
        return self.everywhere or self.roles.get(project_id)

    def may(self, role: Role, project_id: uuid.UUID) -> bool:
        own = self.role_in(project_id)
        return own is not None and own >= role

    @property
    def only_project(self) -> uuid.UUID | None:
        """Return the project of a caller that reads exactly one."""
        if self.everywhere or len(self.roles) != 1:
            return None
        return next(iter(self.roles))

    def require(self, role: Role, project_id: uuid.UUID) -> None:
        """Refuse with 404 if the caller cannot see the project, with 403 if its role is low."""
        if self.role_in(project_id) is None:
            raise errors.NotFound
        if not self.may(role, project_id):
            raise errors.Forbidden(
                f"The request needs the role {role.label}; "
                f"{self.name} has {self.role_in(project_id).label}."  # type: ignore[union-attr]  # None left above
            )

    def require_unbound(
        self, role: Role, project_id: uuid.UUID, *, action: str
    ) -> None:
        """Like `require`, for an action that affects the memories of all users."""
        self.require(role, project_id)
        if self.user_id:
            raise errors.Forbidden(
                f"A key that is bound to a user cannot {action}; "
                "ask an owner of the project."
            )

    def require_administrator(
        self, role: Role, project_id: uuid.UUID, *, action: str
    ) -> None:
        """Like `require`, for settings, members and projects, which no bound key changes."""
        self.require(role, project_id)
        self.refuse_bound(action=action)

    @property
    def is_bound(self) -> bool:
        return bool(self.user_id or self.agent_id)

    def owns(self, project_id: uuid.UUID) -> bool:
        """Whether the caller is an owner who is not bound to a user or an agent."""
        return self.may(Role.OWNER, project_id) and not self.is_bound

    def refuse_bound(self, *, action: str) -> None:
        if self.is_bound:
            bound_to = "a user" if self.user_id else "an agent"
            raise errors.Forbidden(
                f"A key that is bound to {bound_to} cannot {action}; "
                "use a key without a binding, or sign in."
            )

    def attests_in(self, project_id: uuid.UUID) -> bool:
        """Whether the project believes the caller's reports of tests and of other facts.

        An owner marks the keys that may attest. A signed-in curator always attests.
        """
        is_signed_in = self.account_id is not None
        return self.may_attest or (is_signed_in and self.may(Role.CURATOR, project_id))

    def speaks_for(self, user_id: str, project_id: uuid.UUID) -> bool:
        """Whether what the caller says of a user is that user's own word.

        It is for a key of the user, a key that acts for users, and a curator. Everybody
        speaks for the anonymous user, who has no id.
        """
        is_own = self.user_id == user_id
        acts = self.acts_for_users and not self.user_id
        return is_own or not user_id or acts or self.may(Role.CURATOR, project_id)

    @property
    def person(self) -> str:
        """Return an opaque name of the person behind the caller.

        Two callers of one person are no two witnesses. The person is the user of a bound
        key, otherwise the account, otherwise the first key of those that issued the key.
        """
        account_id = self.account_id or self.key_account_id
        if self.user_id:
            return _digest(f"user:{self.user_id}")
        if account_id:
            return _digest(f"account:{account_id}")
        return self._line_name(self.root_line_id or self.line_id)

    @property
    def own_names(self) -> frozenset[str]:
        """Return all names of the person; a rotation by somebody else changes `person`."""
        return frozenset({self.person, self._line_name(self.line_id)})

    def _line_name(self, line_id: uuid.UUID | None) -> str:
        return _digest(f"line:{line_id}" if line_id else f"name:{self.name}")

    def agent_id_for(self, agent_id: str) -> str:
        """Return the agent id to write under; a key bound to an agent cannot use another id."""
        if self.agent_id and agent_id and agent_id != self.agent_id:
            raise AgentMismatch
        return self.agent_id or agent_id or self.name


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class AgentMismatch(errors.Refusal):
    """This key is bound to another agent_id; leave agent_id out, or use its own."""

    status = 403
    code = "agent_mismatch"


SYSTEM = Caller(name="system", everywhere=Role.OWNER, may_attest=True)
