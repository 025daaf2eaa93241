"""Refuse texts that order dangerous things, unless an owner writes them.

The texts are put in front of a session, where an agent follows them.
"""

from __future__ import annotations

from common import errors
from common.caller import Caller
from common.text.danger import find_dangers
from common.text.prompt_injection import find_injections
from projects.models import Project

MAX_NAMED = 5  # dangers that a refusal lists


class NeedsOwner(errors.Refusal):
    """The text orders dangerous things; only an owner of the project may store it."""

    status = 422
    code = "needs_owner"


def refuse_danger(project: Project, text: str, caller: Caller) -> None:
    """Refuse a dangerous text from everybody but an unbound owner."""
    if caller.owns(project.pk):
        return
    hosts = frozenset(project.options.trusted_hosts)
    named = [each.message for each in find_dangers(text, own_hosts=hosts)]
    named += [f"It has {each.name}." for each in find_injections(text)]
    if not named:
        return
    messages = list(dict.fromkeys(named))[:MAX_NAMED]
    raise NeedsOwner(
        f"The text orders dangerous things: {' '.join(messages)} Change it, or have an "
        "owner of the project store it.",
        errors={"text": messages},
    )
