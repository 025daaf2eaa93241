"""Whose words a write has, and who may claim them.

`user` is the word of a person: constraints and rollbacks need it.
"""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller, Role

SOURCES = ("user", "agent", "reflect", "system")


class SourceNotAllowed(errors.Forbidden):
    """Your key may not claim this source; leave it out, or use a key that may."""

    code = "source_not_allowed"


class NotYourUser(errors.Forbidden):
    """A key of the user, one that acts for users (`acts_for_users`) or a curator decides this.

    It holds for profile, soul and constraints of a user, and for the switch of the memory. A
    run of the agent writes them for the same callers.
    """

    code = "not_your_user"


def may_claim(source: str, project_id: uuid.UUID, user_id: str, caller: Caller) -> bool:
    """Return whether the caller may write as this source for this user.

    A signed-in person, a key that is bound to the user, and a curator may write as the user.
    Only owners may write as the system.
    """
    if source == "system":
        return caller.may(Role.OWNER, project_id)
    if source != "user":
        return True
    is_person = caller.account_id is not None
    is_user = bool(user_id) and caller.user_id == user_id
    return is_person or is_user or caller.may(Role.CURATOR, project_id)


def require_source(
    source: str, project_id: uuid.UUID, user_id: str, caller: Caller
) -> None:
    """Refuse with 403 if the caller may not claim the source."""
    if may_claim(source, project_id, user_id, caller):
        return
    who = {
        "user": "a signed-in person, a key bound to this user_id, or a curator",
        "system": "an owner of the project",
    }[source]
    raise SourceNotAllowed(
        f"The source {source} may be claimed by {who}; leave `source` out to write as the "
        "agent."
    )


def require_voice(user_id: str, project_id: uuid.UUID, caller: Caller) -> None:
    """Refuse with 403 a caller who would write what is put before a user's agent."""
    if not caller.speaks_for(user_id, project_id):
        raise NotYourUser
