"""Who may claim which source of a memory, because a digest prints the source.

The service writes some memories itself, and curators speak for the people of a project.
Others write as agents, tools or imports.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from common.caller import Caller, Role
from memories.models import Memory
from memories.store.drafts import Draft

RESERVED = frozenset({Memory.Source.USER, Memory.Source.SYSTEM, Memory.Source.REFLECT})


def may_claim(source: str, project_id: uuid.UUID, caller: Caller) -> bool:
    return source not in RESERVED or caller.may(Role.CURATOR, project_id)


def default_source(
    project_id: uuid.UUID, caller: Caller, *, agent_id: str, session: str
) -> str:
    """Return the source of a memory whose writer names none.

    A curator's key that is bound to nobody is a person's own, unless it writes for an agent or
    in a session.
    """
    is_person = not (caller.is_bound or agent_id or session)
    is_person = is_person and caller.may(Role.CURATOR, project_id)
    return Memory.Source.USER if is_person else Memory.Source.AGENT


def note_of(source: str) -> str:
    return f"source: {source} is for curators to claim; stored as agent"


def check_source(draft: Draft, project_id: uuid.UUID, caller: Caller) -> Draft:
    """Store a draft as the agent's if its caller may not claim its source."""
    if may_claim(draft.source, project_id, caller):
        return draft
    notes = (*draft.notes, note_of(draft.source))
    return replace(draft, source=Memory.Source.AGENT, notes=notes)
