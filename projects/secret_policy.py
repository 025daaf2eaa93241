"""Mask, refuse or allow the secrets in a request, as the project's settings say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from common import errors
from common.secret_masks import mask_value


class SecretFound(errors.Refusal):
    """The text holds a secret and this project refuses them; take it out."""

    status = 422
    code = "secret_found"


def guard(mode: str, value: Any) -> tuple[Any, list[str]]:
    """Return a JSON value with its secrets masked, and the kinds of these secrets.

    In the mode reject, refuse a value that has secrets.
    """
    if mode == "allow":
        return value, []
    masked, kinds = mask_value(value)
    if kinds and mode == "reject":
        refuse(kinds)
    return masked, kinds


def mask_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the secrets in new settings."""
    masked, _ = guard("mask", dict(settings))
    if "secrets" in settings:
        masked["secrets"] = settings["secrets"]
    result: dict[str, Any] = masked
    return result


def refuse(kinds: Collection[str]) -> None:
    raise SecretFound(f"The text holds a secret ({', '.join(kinds)}); take it out.")


def describe(kinds: Collection[str]) -> str:
    """Return the note of an answer whose request had secrets."""
    return f"masked: {', '.join(dict.fromkeys(kinds))}"
