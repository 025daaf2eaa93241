"""Promotion: a memory of a narrow scope becomes known in a broader one (docs/api.md)."""

from __future__ import annotations

from collections.abc import Sequence

from common import errors
from common.caller import Caller, Role
from memories.lifecycle import derive
from memories.lifecycle.derive import Derivation
from memories.models import Memory
from memories.scopes import Scope
from memories.store import drafts
from memories.store.drafts import Draft

# Upward only. Objects stand beside the ladder: above a session, below a user.
BROADER_SCOPES = {
    "session": ("user", "workspace", "org", "object"),
    "user": ("workspace", "org"),
    "workspace": ("org",),
    "object": ("user", "workspace", "org"),
    "org": (),
}


class InvalidPromotion(errors.StateConflict):
    """A memory is promoted to a broader scope only."""

    code = "invalid_scope_promotion"


def prepare(
    memory: Memory,
    target: Scope,
    caller: Caller,
    *,
    delete_original: bool = False,
    content: str | None = None,
    tags: Sequence[str] | None = None,
) -> Derivation:
    """A copy of a memory for a broader scope; the original stays unless it is to go.

    The copy keeps everything but its scope, names its source in `promoted_from`, and
    is never a duplicate. A fact takes the place of the one with its key.
    """
    caller.require(Role.WRITER, memory.project_id)
    if target.kind not in BROADER_SCOPES[memory.scope_kind]:
        raise InvalidPromotion(
            f"Cannot promote memory from {memory.scope_kind} scope to "
            f"{target.kind} scope."
        )
    draft = _draft(memory, target, content, tags)
    retire = "promoted to" if delete_original else ""
    return derive.prepare(memory.project, [memory], draft, retire=retire)


def _draft(
    memory: Memory, target: Scope, content: str | None, tags: Sequence[str] | None
) -> Draft:
    kept = {name: getattr(memory, name) for name in drafts.COPIED_FIELDS}
    session = memory.scope_key if memory.scope_kind == Memory.Scope.SESSION else ""
    changed = {
        "content": memory.content if content is None else content,
        "tags": tuple(dict.fromkeys(memory.tags if tags is None else tags)),
        "scope": target,
        "promoted_from": memory.pk,
        "created_in_session_id": memory.created_in_session_id or session,
        # What was stored once may be short; a new text is as any other.
        "min_length": 1 if content is None else None,
    }
    return Draft(**(kept | changed))
