"""Mask, refuse or allow the secrets in a draft, as the project's settings say."""

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
    """Mask, refuse or allow the secrets in every text of a draft."""
    fields = (*TEXT_FIELDS, *JSON_FIELDS)
    values, names = guard(mode, [getattr(draft, name) for name in fields])
    tags, more = guard(mode, list(draft.tags))
    kinds = ", ".join(dict.fromkeys(names + more))
    if not kinds:
        return draft
    notes = (*draft.notes, f"masked: {kinds}")
    guarded = dict(zip(fields, values, strict=True))
    masked = replace(draft, **guarded, tags=tuple(tags), notes=notes)
    _refuse_long(masked)
    return masked


def _refuse_long(draft: Draft) -> None:
    """Refuse a text that became too long when its secrets were masked."""
    for name, values, most in (
        ("title", [draft.title], MAX_TITLE),
        ("tags", draft.tags, MAX_TAG),
    ):
        if any(len(value) > most for value in values):
            message = f"With its secret masked, this is longer than {most} characters."
            raise errors.Invalid(errors={name: [message]})


def guard(mode: str, value: Any) -> tuple[Any, list[str]]:
    """Return a JSON value with its secrets masked, and the kinds of these secrets.

    In the mode reject, refuse a value that has secrets.
    """
    kinds: list[str] = []
    if mode == "allow":
        return value, kinds

    def mask(text: str) -> str:
        result = secrets.mask(text)
        kinds.extend(result.kinds)
        return result.text

    masked = map_strings(value, mask)
    if kinds and mode == "reject":
        names = ", ".join(dict.fromkeys(kinds))
        raise SecretFound(f"The text holds a secret ({names}); take it out.")
    return masked, kinds


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Change every string of a JSON value.

    The keys of objects are changed too.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): map_strings(item, change) for key, item in value.items()}
    return value
