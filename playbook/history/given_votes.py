"""Votes of an agent on a rule that it was given, outside of a finished task."""

from __future__ import annotations

from datetime import datetime

from access.models import ApiKey
from common import errors
from common.caller import Caller, Role
from common.db import write
from playbook.history import votes
from playbook.history.revision import Cause, lock_playbook
from playbook.history.votes import Vote, VoteKind
from playbook.models import Exposure, PlaybookChange, PlaybookEntry


class UnseenRule(errors.StateConflict):
    """Your key was not given this rule; read it with `context` or `fetch` before you vote."""

    code = "not_given"


class AlreadyVoted(errors.StateConflict):
    """Your key has voted on this rule since it was last given it; the first vote counts."""

    code = "already_voted"


@write
def vote(entry: PlaybookEntry, kind: VoteKind, caller: Caller, *, note: str) -> None:
    """Count one vote on a rule for each time that the caller's key was given it."""
    caller.require(Role.WRITER, entry.project_id)
    # Under the lock, two votes of one key cannot both be the first.
    lock_playbook(entry.project)
    keys = ApiKey.objects.of_same_line(caller.key_id)
    given = Exposure.objects.given().filter(entry=entry, key_id__in=keys.values("pk"))
    last = given.order_by("-pk").values_list("at", flat=True).first()
    if last is None:
        raise UnseenRule
    if _has_voted(entry, [caller.name, *keys.caller_names()], last):
        raise AlreadyVoted
    votes.record(
        entry.project,
        [Vote(entry.pk, kind, note)],
        (),
        Cause(reason=note, agent_id=caller.agent_id),
        caller,
        is_believed=caller.attests_in(entry.project_id),
    )


def _has_voted(entry: PlaybookEntry, names: list[str], since: datetime) -> bool:
    """Whether one of the callers has voted outside of a task since a time."""
    cast = PlaybookChange.objects.filter(
        entry_id=entry.pk, action="vote", run_id=None, actor__in=names
    )
    return cast.filter(changed_at__gte=since).exists()
