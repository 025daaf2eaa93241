"""Promote a memory: copy the memory from its scope into a broader scope (docs/api.md)."""

from __future__ import annotations

from collections.abc import Sequence

from common import errors
from common.caller import Caller, Role
from memories.lifecycle import derive
from memories.lifecycle.derive import Derivation
from memories.models import Memory
from memories.scopes import Scope
from memories.store import drafts
from memories.store.claimed_source import check_source
from memories.store.drafts import Draft

# An object scope is broader than a session and narrower than a user.
BROADER_SCOPES = {
    "session": ("user", "workspace", "org", "object"),
    "user": ("workspace", "org"),
    "workspace": ("org",),
    "object": ("user", "workspace", "org"),
    "org": (),
}


class InvalidPromotion(errors.StateConflict):
    """A memory can only be promoted to a broader scope."""

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
    """Prepare a copy of a memory in a broader scope.

    By default, the copy differs from the memory in its scope only. `promoted_from` names
    the memory that was copied. The copy is never marked as a duplicate. If the memory is a
    fact with a key, the copy supersedes the fact with this key in the broader scope.
    """
    caller.require(Role.WRITER, memory.project_id)
    if target.kind not in BROADER_SCOPES[memory.scope_kind]:
        raise InvalidPromotion(
            f"Cannot promote memory from {memory.scope_kind} scope to "
            f"{target.kind} scope."
        )
    draft = _draft(memory, target, content, tags)
    if draft.content != memory.content:
        draft = check_source(draft, memory.project_id, caller)
    retire = "promoted to" if delete_original else ""
    return derive.prepare(memory.project, [memory], draft, retire=retire)


def _draft(
    memory: Memory, target: Scope, content: str | None, tags: Sequence[str] | None
) -> Draft:
    kept = {name: getattr(memory, name) for name in drafts.COPIED_FIELDS}
    session = memory.scope_key if memory.scope_kind == Memory.ScopeKind.SESSION else ""
    changed = {
        "content": memory.content if content is None else content,
        "tags": tuple(dict.fromkeys(memory.tags if tags is None else tags)),
        "scope": target,
        "promoted_from": memory.pk,
        "compacted_from": tuple(memory.compacted_from),
        "created_in_session_id": memory.created_in_session_id or session,
        # The original text was accepted before, so only a new text must have the minimum
        # length.
        "min_length": 0 if content is None else None,
    }
    return Draft(**(kept | changed))
