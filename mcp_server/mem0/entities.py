"""The ids by which mem0 names whose memory it is: a user, an agent, an app, a run.

A run is a session scope, a user is a user scope, and an app without both is an object scope
of the type `app`. The agent is the `agent_id` of the memory. The metadata keep the app too,
because a memory has one scope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from common.caller import SYSTEM, Caller
from memories import scopes
from memories.metadata_filter import MetadataFilter
from memories.models import Memory
from memories.queries import OF_NO_AGENT
from memories.scopes import Scope
from projects.models import Project

# The key of the metadata, and the type of the object scope, of an app.
APP_KEY, APP_TYPE = "app_id", "app"
NAMES = ("user_id", "agent_id", "app_id", "run_id")
# The entities whose memories are read only if the request names one.
PRIVATE = frozenset({"user_id", "app_id", "run_id"})
# The metadata name an app. Every text is at least the empty one, and no number is one;
# without the key the comparison would be NULL.
HAS_APP = Q(metadata__has_key=APP_KEY) & MetadataFilter(APP_KEY, "gte", "").condition


@dataclass(frozen=True)
class EntityIds:
    """Whose memory it is; an empty id names nobody."""

    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: str = ""

    def scope(self, project: Project, caller: Caller) -> Scope:
        """Return the scope of a new memory: that of the run, the user or the app.

        Without any of them it is the workspace, or the user of a bound key. Refuse with
        NotFound the user of somebody else.
        """
        value: dict[str, str] | None = None
        if self.run_id:
            value = {"kind": "session", "session_id": self.run_id}
            value |= {"user_id": self.user_id} if self.user_id else {}
        elif self.user_id:
            value = {"kind": "user", "user_id": self.user_id}
        elif self.app_id:
            value = {"kind": "object", "object_type": APP_TYPE}
            value["object_id"] = self.app_id
        return scopes.resolve_for_task(value, project, caller)


def ids_of(memory: Memory) -> dict[str, str | None]:
    """Return the ids of a memory as mem0 answers them, with null for nobody."""
    scope = memory.typed_scope
    app_id = memory.metadata.get(APP_KEY)
    if scope.kind == "object" and scope.type == APP_TYPE:
        app_id = scope.key
    return {
        "user_id": scope.owner or None,
        "agent_id": memory.agent_id if is_agent(memory.agent_id) else None,
        "app_id": app_id if isinstance(app_id, str) else None,
        "run_id": scope.key if scope.kind == "session" else None,
    }


def is_agent(agent_id: str) -> bool:
    """Whether an agent wrote the memory; otherwise it has the name of its caller.

    The condition is that of `OF_NO_AGENT`.
    """
    return agent_id not in ("", SYSTEM.name) and not agent_id.startswith(
        ("key:", "user:")
    )


def query_one(name: str, value: str) -> Q:
    """Return the condition that a memory is of this entity."""
    if name == "user_id":
        of_user = Q(scope_kind="user", scope_key=value)
        return of_user | Q(scope_kind="session", scope_user=value)
    if name == "run_id":
        return Q(scope_kind="session", scope_key=value)
    if name == "agent_id":
        return Q(agent_id=value) if is_agent(value) else Q(pk__in=())
    of_app = Q(scope_kind="object", scope_type=APP_TYPE, scope_key=value)
    return of_app | Q(metadata__contains={APP_KEY: value})


def query_any(name: str) -> Q:
    """Return the condition that a memory is of some entity of this kind."""
    conditions: Mapping[str, Q] = {
        "user_id": Q(scope_kind="user") | (Q(scope_kind="session") & ~Q(scope_user="")),
        "run_id": Q(scope_kind="session"),
        "agent_id": ~OF_NO_AGENT,
        "app_id": Q(scope_kind="object", scope_type=APP_TYPE) | HAS_APP,
    }
    return conditions[name]


def query_default(name: str, caller: Caller) -> Q:
    """Return the condition of a read that names no entity of a kind in PRIVATE.

    It then covers what everybody in the project reads, and what the user of a bound key
    reads.
    """
    if name == "run_id":
        return ~Q(scope_kind="session")
    if name == "app_id":
        return ~Q(scope_kind="object")
    shared = ~query_any("user_id")
    return shared | query_one("user_id", caller.user_id) if caller.user_id else shared
