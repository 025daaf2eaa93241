"""The view base for requests about one session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from access.project_view import ProjectView
from common.caller import Role
from conversations.models import Session
from conversations.sessions.lookup import find_session
from conversations.stores import require
from projects.models import Project


class SessionKeyConverter:
    """The key or the id of a session in a path.

    A session whose key has other characters is named by its id.
    """

    regex = r"[A-Za-z0-9._:\-~@]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: object) -> str:
        return str(value)


class SessionView(ProjectView):
    """Find the session that a path names, for a caller who may see it.

    `capability` is what the project's store must be able to do; otherwise the answer is 409.
    """

    capability: ClassVar[str] = "provider"
    path_help: ClassVar[Mapping[str, str]] = {
        "key": "The session's key, or its id.",
        "seq": "The place of the message in its session.",
    }

    def session(
        self,
        data: Mapping[str, Any],
        key: str,
        role: Role | None = None,
    ) -> tuple[Project, Session]:
        """Return the project and the session; refuse if the caller's role is too low."""
        project = self.project(data, role)
        require(project, self.caller, self.capability)
        session = find_session(project, key, self.caller, user_id=data.get("user_id"))
        # The session's queries read the project's settings.
        session.project = project
        return project, session
