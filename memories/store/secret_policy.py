"""TODO docstring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from common import errors
from common.text import secrets
from memories.store.drafts import JSON_FIELDS, MAX_TAG, MAX_TITLE, TEXT_FIELDS, Draft


class SecretFound(errors.Refusal):
    """The text holds a secret and this project refuses them; take it out."""

    status = 422
    code = "secret_found"


def guard_draft(mode: str, draft: Draft) -> Draft:
    """Mask, refuse or allow what looks like a secret, as the project says."""
    fields = (*TEXT_FIELDS, *JSON_FIELDS)
    values, names = guard(mode, [getattr(draft, name) for name in fields])
    tags, more = guard(mode, list(draft.tags))
    found = ", ".join(dict.fromkeys(names + more))
    if not found:
        return draft
    notes = (*draft.notes, f"masked: {found}")
    guarded = dict(zip(fields, values, strict=True))
    masked = replace(draft, **guarded, tags=tuple(tags), notes=notes)
    _refuse_long(masked)
    return masked


def _refuse_long(draft: Draft) -> None:
    """A mask can be longer than what it hides."""
    for name, values, most in (
        ("title", [draft.title], MAX_TITLE),
        ("tags", draft.tags, MAX_TAG),
    ):
        if any(len(value) > most for value in values):
            told = f"With its secret masked, this is longer than {most} characters."
            raise errors.Invalid(errors={name: [told]})


def guard(mode: str, value: Any) -> tuple[Any, list[str]]:
    """A JSON value with its secrets masked, and their kinds; refused in mode reject."""
    kinds: list[str] = []
    if mode == "allow":
        return value, kinds

    def masked(text: str) -> str:
        found = secrets.mask(text)
        kinds.extend(found.kinds)
        return found.text

    changed = map_strings(value, masked)
    if kinds and mode == "reject":
        names = ", ".join(dict.fromkeys(kinds))
        raise SecretFound(f"The text holds a secret ({names}); take it out.")
    return changed, kinds


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Change every string of a JSON value, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): map_strings(item, change) for key, item in value.items()}
    return value
