"""The memory tool of a conversation's session, as a tool of a run."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.tools.call_arguments import check_arguments
from agents.tools.memory_tools import refusals_as_failures
from agents.tools.observation import build_observation
from agents.tools.tool import ToolArgument, ToolContext, ToolFailure
from common.caller import Caller, Role
from conversations.invocations.switch import is_memory_on
from conversations.models import Session
from conversations.stores import MemoryTool, TracedStore, build_tool, store_of
from conversations.stores.contract import SessionRef
from conversations.stores.tool import ToolOptions
from projects.models import Project


@dataclass(frozen=True)
class SessionTool:
    """The tool `memory`; its actions are those that the session's store and caller allow."""

    tool: MemoryTool
    asks_first: bool = False

    @functools.cached_property
    def definition(self) -> dict[str, Any]:
        return self.tool.definition

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def description(self) -> str:
        return str(self.definition["description"])

    @property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        found: Mapping[str, Mapping[str, Any]] = self.definition["parameters"][
            "properties"
        ]
        return found

    @functools.cached_property
    def arguments(self) -> tuple[ToolArgument, ...]:
        required = self.definition["parameters"]["required"]
        return tuple(
            ToolArgument(name, part["type"], _explain(part), name in required)
            for name, part in self.properties.items()
        )

    def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Run one action; raise ToolFailure."""
        session = context.session and Session.objects.get(pk=context.session.pk)
        if not is_memory_on(context.project, context.user_id, session):
            raise ToolFailure("Memory is turned off for the user or the conversation.")
        checked = check_arguments(arguments, self.arguments)
        for name, value in checked.items():
            choices = self.properties[name].get("enum", [value])
            if value not in choices:
                raise ToolFailure(f"{name} must be one of: {', '.join(choices)}.")
        with refusals_as_failures():
            answer = self.tool.call(checked)
        return build_observation(answer.text, {}, context.project)


def _explain(part: Mapping[str, Any]) -> str:
    """Return what an argument is, with its choices."""
    description = str(part.get("description", ""))
    if "enum" not in part:
        return description
    return f"{description} One of: {', '.join(part['enum'])}.".strip()


def build_session_tool(
    project: Project, session: Session, caller: Caller
) -> SessionTool:
    """Return the memory tool of a session, as a model may use it.

    A tool's answer may tell the model what to write. So it writes with the rights of a
    writer only, whose texts the gate of dangers reads, and never as the user. It writes the
    profile and the soul of the user if the caller speaks for the user.
    """
    writer = replace(
        caller,
        everywhere=None,
        roles={project.pk: Role.WRITER},
        account_id=None,
        may_attest=False,
        acts_for_users=caller.speaks_for(session.user_id, project.pk),
    )
    ref = SessionRef(session.key, session.agent_id, session.user_id, session.channel)
    store = TracedStore(store_of(project, writer))
    options = ToolOptions(is_for_model=True)
    return SessionTool(build_tool(store, ref, project, writer, options))
