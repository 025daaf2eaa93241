"""Apply the project's rule on secrets to every text of a draft."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from common import errors
from memories.scopes import Scope
from memories.store.drafts import (
    JSON_FIELDS,
    MAX_TAG,
    MAX_TITLE,
    TEXT_FIELDS,
    Draft,
    FileRef,
)
from projects.secret_policy import describe, guard

IDENTIFIERS = ("key", "agent_id", "user_id", "created_in_session_id")
MAX_IDENTIFIER = 255


def guard_draft(mode: str, draft: Draft) -> Draft:
    """Mask, refuse or allow the secrets in every text of a draft."""
    texts = (*TEXT_FIELDS, *JSON_FIELDS, *IDENTIFIERS)
    sent: dict[str, Any] = {name: getattr(draft, name) for name in texts}
    sent["tags"] = list(draft.tags)
    sent["file_paths"] = [ref.path for ref in draft.files]
    sent["content_hashes"] = [ref.content_hash for ref in draft.files]
    sent["scope"] = _scope_texts(draft.scope)
    masked, kinds = guard(mode, sent)
    if not kinds:
        return draft
    guarded = _with_texts(draft, masked)
    _refuse_long(guarded)
    return replace(guarded, notes=(*draft.notes, describe(kinds)))


def _with_texts(draft: Draft, masked: dict[str, Any]) -> Draft:
    names = {field.name for field in fields(Draft)} & set(masked) - {"tags", "scope"}
    paths = zip(
        draft.files, masked["file_paths"], masked["content_hashes"], strict=True
    )
    return replace(
        draft,
        **{name: masked[name] for name in names},
        tags=tuple(masked["tags"]),
        files=tuple(_with_path(ref, path, hashed) for ref, path, hashed in paths),
        scope=_with_scope_texts(draft.scope, masked["scope"]),
    )


def _with_path(ref: FileRef, path: str, content_hash: str) -> FileRef:
    return replace(ref, path=path, content_hash=content_hash)


def _scope_texts(scope: Scope | None) -> dict[str, str]:
    """Return the texts of a scope under the names that make them identifiers."""
    if scope is None:
        return {}
    return {"key": scope.key, "object_type": scope.type, "user_id": scope.user}


def _with_scope_texts(scope: Scope | None, masked: dict[str, str]) -> Scope | None:
    if scope is None:
        return None
    return Scope(scope.kind, masked["key"], masked["object_type"], masked["user_id"])


def _refuse_long(draft: Draft) -> None:
    """Refuse a text that became too long when its secrets were masked."""
    scope = draft.scope or Scope("workspace", "")
    for name, values, most in (
        ("title", [draft.title], MAX_TITLE),
        ("tags", draft.tags, MAX_TAG),
        *((name, [getattr(draft, name)], MAX_IDENTIFIER) for name in IDENTIFIERS),
        ("scope", [scope.key, scope.type, scope.user], MAX_IDENTIFIER),
    ):
        if any(len(value) > most for value in values):
            message = f"With its secret masked, this is longer than {most} characters."
            raise errors.Invalid(errors={name: [message]})
