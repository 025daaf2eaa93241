"""The constraints that a user sets for an agent."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from common.ids import uuid7
from conversations import sources
from conversations.agent_memory import changelog, danger_gate
from conversations.agent_memory.pair import MemoryPair
from conversations.agent_memory.texts import refuse_long
from conversations.models import AgentMemory, AgentMemoryChange, Session

MAX_CHARACTERS = 2_000  # of one constraint
MAX_CONSTRAINTS = 200
SCOPE = AgentMemoryChange.ChangeScope.CONSTRAINT

Constraint = dict[str, Any]


class TooManyConstraints(errors.StateConflict):
    """An agent memory has at most 200 constraints; remove one first."""

    code = "too_many_constraints"


class ConstraintList(NamedTuple):
    """All constraints, and the version of the agent memory in which they were read."""

    constraints: list[Constraint]
    version: int


def list_constraints(pair: MemoryPair, *, version: int | None = None) -> ConstraintList:
    """Return the constraints now, or as they were at a version."""
    if version is None:
        memory = pair.find()
        return ConstraintList(memory.constraints, memory.version)
    return ConstraintList(parse(changelog.text_at(pair, SCOPE, version)), version)


def parse(text: str) -> list[Constraint]:
    """Read constraints from JSON; an empty text and null are an empty list.

    Raises ValueError for anything else that is not a list.
    """
    found = json.loads(text) if text.strip() else []
    if found is None:
        return []
    if not isinstance(found, list):
        raise ValueError("Constraints are a list.")
    return found


@write
def add_constraint(
    pair: MemoryPair,
    text: str,
    caller: Caller,
    *,
    source: str = "user",
    session: Session | None = None,
) -> ConstraintList:
    """Add a constraint and return all; only a user's word adds one.

    Refuse a constraint that is too long, and one constraint too many.
    """
    _require(pair, source, caller)
    refuse_long("A constraint", text, MAX_CHARACTERS)
    danger_gate.refuse_danger(pair.project, text, caller)
    memory = pair.lock()
    if len(memory.constraints) >= MAX_CONSTRAINTS:
        raise TooManyConstraints
    added = {
        "id": str(uuid7()),
        "text": text,
        "created_at": timezone.now().isoformat(),
    }
    return _replace(memory, [*memory.constraints, added], "create", session, caller)


@write
def remove_constraint(
    pair: MemoryPair,
    constraint_id: str,
    caller: Caller,
    *,
    source: str = "user",
    session: Session | None = None,
) -> ConstraintList:
    """Remove a constraint and return the others; an unknown id is 404 and changes nothing."""
    _require(pair, source, caller)
    memory = pair.lock()
    kept = [each for each in memory.constraints if each["id"] != constraint_id]
    if len(kept) == len(memory.constraints):
        raise errors.NotFound(f"There is no constraint {constraint_id[:100]!r}.")
    return _replace(memory, kept, "delete", session, caller)


def _require(pair: MemoryPair, source: str, caller: Caller) -> None:
    caller.require(Role.WRITER, pair.project.pk)
    if source != "user":
        raise sources.SourceNotAllowed(
            "Constraints are a user's word: send the source `user`."
        )
    sources.require_voice(pair.user_id, pair.project.pk, caller)
    sources.require_source(source, pair.project.pk, pair.user_id, caller)


def _replace(
    memory: AgentMemory,
    constraints: list[Constraint],
    action: str,
    session: Session | None,
    caller: Caller,
) -> ConstraintList:
    before = _write(memory.constraints)
    memory.constraints = constraints
    changelog.record_change(
        memory,
        SCOPE,
        before,
        _write(constraints),
        source="user",
        session=session,
        caller=caller,
        action=action,
    )
    return ConstraintList(constraints, memory.version)


def _write(constraints: list[Constraint]) -> str:
    return json.dumps(constraints, ensure_ascii=False) if constraints else ""
