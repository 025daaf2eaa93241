"""The memory tool of an agent: its actions are what the store can do (seed 002)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from common import errors
from common.caller import Caller
from conversations.agent_memory import changelog, texts
from conversations.agent_memory.pair import resolve_pair
from conversations.messages import explore
from conversations.messages.explore import DEFAULT_TOKEN_CAP
from conversations.sessions.lookup import look_up
from conversations.sources import may_claim
from conversations.stores.capabilities import capabilities_of
from conversations.stores.contract import SearchQuery, SessionRef
from conversations.stores.trace import unwrap
from conversations.stores.write_context import (
    with_agent_id,
    with_change_source,
    with_session_id,
    with_user_id,
)
from memories.read.search import MAX_QUERY
from projects.models import Project

NAME = "memory"
DESCRIPTION = (
    "Read and write what is remembered of this conversation and its user: search and expand "
    "the history, keep notes about the user (profile) and about yourself (soul), and follow "
    "the user's constraints."
)
HISTORY_LIMIT = 10  # entries of a history (07a, P12)


@dataclass(frozen=True)
class ToolOptions:
    """Which actions a tool has; no names are all that the store can do."""

    actions: tuple[str, ...] = ()
    read_only_profile: bool = False
    read_only_soul: bool = False
    # Whether a model calls the tool: then it never speaks as the user.
    is_for_model: bool = False


@dataclass(frozen=True)
class ToolAnswer:
    """A sentence for the agent, and the same as data."""

    text: str
    data: Any = None


class BadToolCall(errors.Invalid):
    """The call of the memory tool lacks a field; the message names it."""

    code = "bad_tool_call"


Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class ToolAction:
    """An action, the capabilities that it needs, and its fields."""

    needs: tuple[str, ...]
    run: Callable[[MemoryTool, Arguments], ToolAnswer]
    fields: tuple[str, ...] = ()
    # The word of a user: only for callers who may claim it.
    is_users: bool = False


@dataclass(frozen=True)
class MemoryTool:
    """The tool of one session: `definition` for the model, `call` for its calls."""

    store: Any
    session: SessionRef
    project: Project
    caller: Caller
    options: ToolOptions = ToolOptions()

    @property
    def actions(self) -> dict[str, ToolAction]:
        """The actions that the store, the options and the caller's rights allow."""
        have = {*capabilities_of(self.store)}
        return {
            name: action
            for name, action in ACTIONS.items()
            if have >= set(action.needs) and self._allows(name, action)
        }

    def _allows(self, name: str, action: ToolAction) -> bool:
        options = self.options
        if options.actions and name not in options.actions and name != "status":
            return False
        if name == "profile_update" and options.read_only_profile:
            return False
        if name == "soul_update" and options.read_only_soul:
            return False
        return not action.is_users or self.may_be_user

    @property
    def may_be_user(self) -> bool:
        if self.options.is_for_model:
            return False
        return may_claim("user", self.project.pk, self.session.user_id, self.caller)

    @property
    def definition(self) -> dict[str, Any]:
        """The name, the description and the JSON schema of exactly the available actions."""
        actions = self.actions
        names = [field for action in actions.values() for field in action.fields]
        fields = {name: FIELDS[name] for name in dict.fromkeys(names)}
        choice = {"type": "string", "enum": list(actions)}
        return {
            "name": NAME,
            "description": DESCRIPTION,
            "parameters": {
                "type": "object",
                "properties": {"action": choice, **fields},
                "required": ["action"],
                "additionalProperties": False,
            },
        }

    def call(self, arguments: Arguments) -> ToolAnswer:
        """Run one action; raise BadToolCall if it is unknown or lacks a field."""
        name = arguments.get("action")
        action = self.actions.get(name) if isinstance(name, str) else None
        if action is None:
            listed = ", ".join(self.actions)
            raise BadToolCall(f"Unknown action {name!r}. Available actions: {listed}.")
        source = arguments.get("source") or "agent"
        if self.options.is_for_model:
            source = "agent"
        if action.is_users:
            source = "user"
        with (
            with_agent_id(self.session.agent_id),
            with_user_id(self.session.user_id),
            with_session_id(self.session.id),
            with_change_source(source),
        ):
            return action.run(self, arguments)


def build_tool(
    store: Any,
    session: SessionRef,
    project: Project,
    caller: Caller,
    options: ToolOptions | None = None,
) -> MemoryTool:
    """Return the memory tool of a session, with the actions that its store can do."""
    return MemoryTool(store, session, project, caller, options or ToolOptions())


def _require_text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadToolCall(f"{name} is required")
    return value


def _status(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    found = asdict(tool.store.stats(tool.session))
    text = (
        f"{found['message_count']} messages, {found['token_count']} tokens, "
        f"{found['summary_count']} summaries."
    )
    return ToolAnswer(text, {**found, "store": unwrap(tool.store).name})


def _search(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    pattern = _require_text(arguments, "pattern")
    if len(pattern) > MAX_QUERY:
        raise BadToolCall(f"pattern has at most {MAX_QUERY:,} characters")
    hits = tool.store.search(tool.session, SearchQuery(pattern))
    if not hits:
        return ToolAnswer("No matches found.", [])
    lines = [
        f"[{hit.source_type} {hit.source_id}] {hit.timestamp:%Y-%m-%d %H:%M}: {hit.content}"
        for hit in hits
    ]
    data = [
        {"source_type": hit.source_type, "source_id": hit.source_id, "score": hit.score}
        for hit in hits
    ]
    return ToolAnswer("\n".join(lines), data)


def _require_summary(tool: MemoryTool, arguments: Arguments) -> str:
    """Return the id of a summary of the tool's session; any other is not found."""
    summary_id = _require_text(arguments, "summary_id")
    found = explore.find_summary(summary_id, tool.caller, tool.project).session
    if (found.key, found.user_id) != (tool.session.id, tool.session.user_id):
        raise explore.not_found_error(summary_id)
    return summary_id


def _describe(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    found = tool.store.describe(_require_summary(tool, arguments))
    text = (
        f"{found.summary_id} ({found.kind}, depth {found.depth}) covers "
        f"{found.descendant_count} messages from {found.earliest_at:%Y-%m-%d %H:%M} to "
        f"{found.latest_at:%Y-%m-%d %H:%M}.\nParents: {_join_names(found.parent_ids)}\n"
        f"Children: {_join_names(found.child_ids)}\n{found.content}"
    )
    return ToolAnswer(text, asdict(found))


def _join_names(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _expand(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    cap = arguments.get("token_cap") or DEFAULT_TOKEN_CAP
    if not isinstance(cap, int) or cap < 1:
        raise BadToolCall("token_cap is a whole number of tokens")
    found = tool.store.expand(_require_summary(tool, arguments), cap)
    lines = [f"[{each.role}] {each.text}" for each in found.messages]
    lines += [f"[{each.summary_id}] {each.content}" for each in found.children]
    if found.truncated:
        lines.append("[more: expand with a larger token_cap]")
    seqs = [each.seq for each in found.messages]
    children = [each.summary_id for each in found.children]
    return ToolAnswer("\n".join(lines), {"seqs": seqs, "children": children})


def _profile(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    text = tool.store.get_profile(tool.session.user_id, tool.session.agent_id)
    return ToolAnswer(text or "No profile notes found.", {"text": text})


def _set_profile(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    content = _require_text(arguments, "content")
    tool.store.set_profile(tool.session.user_id, tool.session.agent_id, content)
    return ToolAnswer("Profile updated.", {"text": content})


def _soul(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    text = tool.store.get_agent_soul(tool.session.user_id, tool.session.agent_id)
    return ToolAnswer(text or "No agent soul defined.", {"text": text})


def _set_soul(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    content = _require_text(arguments, "content")
    tool.store.set_agent_soul(tool.session.user_id, tool.session.agent_id, content)
    return ToolAnswer("Agent soul updated.", {"text": content})


def _history(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    scope = arguments.get("scope") or "profile"
    limit = arguments.get("limit") or HISTORY_LIMIT
    if not isinstance(limit, int) or not 1 <= limit <= changelog.MAX_CHANGES:
        raise BadToolCall(f"limit is a whole number up to {changelog.MAX_CHANGES:,}")
    user_id, agent_id = tool.session.user_id, tool.session.agent_id
    rows = tool.store.read_changelog(user_id, agent_id, scope, limit)
    if not rows:
        return ToolAnswer("No history found.", [])
    lines = [
        f"version {row.memory_version_after}, {row.created_at}: {row.action} by {row.source}"
        for row in rows
    ]
    return ToolAnswer("\n".join(lines), [asdict(row) for row in rows])


def _roll_back(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    scope = arguments.get("scope") or "profile"
    version = arguments.get("version")
    if scope not in texts.SCOPES:
        raise BadToolCall("scope is profile or soul")
    if not isinstance(version, int) or isinstance(version, bool):
        raise BadToolCall("version is required")
    pair = resolve_pair(
        tool.project,
        tool.caller,
        user_id=tool.session.user_id,
        agent_id=tool.session.agent_id,
    )
    session = look_up(
        tool.project, tool.session.id, tool.caller, user_id=tool.session.user_id
    )
    found = texts.roll_back(pair, scope, version, tool.caller, session=session)
    text = f"Rolled back {scope} to version {version}."
    return ToolAnswer(text, found._asdict())


def _constraints(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    return _list_of(
        tool.store.get_constraints(tool.session.user_id, tool.session.agent_id)
    )


def _add_constraint(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    text = _require_text(arguments, "constraint_text")
    user_id, agent_id = tool.session.user_id, tool.session.agent_id
    return _list_of(tool.store.add_constraint(user_id, agent_id, text))


def _remove_constraint(tool: MemoryTool, arguments: Arguments) -> ToolAnswer:
    constraint_id = _require_text(arguments, "constraint_id")
    user_id, agent_id = tool.session.user_id, tool.session.agent_id
    return _list_of(tool.store.remove_constraint(user_id, agent_id, constraint_id))


def _list_of(entries: list[Any]) -> ToolAnswer:
    if not entries:
        return ToolAnswer("No constraints set.", [])
    lines = [f"- {entry.text} ({entry.id})" for entry in entries]
    return ToolAnswer("\n".join(lines), [asdict(entry) for entry in entries])


PROFILE, CONSTRAINT = ("profile_store",), ("constraint_store",)
READS = (*PROFILE, "changelog_reader")
ACTIONS: dict[str, ToolAction] = {
    "status": ToolAction((), _status),
    "search": ToolAction(("searcher",), _search, ("pattern",)),
    "describe": ToolAction(("explorer",), _describe, ("summary_id",)),
    "expand": ToolAction(("explorer",), _expand, ("summary_id", "token_cap")),
    "profile_get": ToolAction(PROFILE, _profile),
    "profile_update": ToolAction(PROFILE, _set_profile, ("content", "source")),
    "profile_history": ToolAction(READS, _history, ("scope", "limit")),
    "profile_rollback": ToolAction(
        (*READS, "changelog_writer"), _roll_back, ("scope", "version"), is_users=True
    ),
    "soul_get": ToolAction(PROFILE, _soul),
    "soul_update": ToolAction(PROFILE, _set_soul, ("content", "source")),
    "constraint_list": ToolAction(CONSTRAINT, _constraints),
    "constraint_add": ToolAction(
        CONSTRAINT, _add_constraint, ("constraint_text",), is_users=True
    ),
    "constraint_remove": ToolAction(
        CONSTRAINT, _remove_constraint, ("constraint_id",), is_users=True
    ),
}
FIELDS: dict[str, dict[str, Any]] = {
    "pattern": {
        "type": "string",
        "description": "What to search for.",
        "maxLength": MAX_QUERY,
    },
    "summary_id": {"type": "string", "description": "An id that begins with sum_."},
    "token_cap": {"type": "integer", "minimum": 1},
    "content": {"type": "string", "description": "The whole new text."},
    "source": {"type": "string", "enum": ["agent", "user"]},
    "scope": {"type": "string", "enum": ["profile", "soul"]},
    "limit": {"type": "integer", "minimum": 1, "maximum": changelog.MAX_CHANGES},
    "version": {"type": "integer", "minimum": 1},
    "constraint_text": {"type": "string"},
    "constraint_id": {"type": "string"},
}
