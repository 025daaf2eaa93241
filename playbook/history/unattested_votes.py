"""Discount the votes of people whose keys may not attest.

One such person must neither praise a rule upwards nor put a live rule in doubt. So a helpful
vote of the person counts once for each entry. A harmful vote counts only if another such
person has called the entry harmful before, and then once.
"""

from __future__ import annotations

from common.caller import Caller
from playbook.models import PlaybookEntry, UnattestedVote


def reason_to_discount(entry: PlaybookEntry, kind: str, caller: Caller) -> str:
    """Remember a vote; return why it must count as neutral, or an empty text.

    The caller of this function holds the lock of the playbook.
    """
    if kind == "neutral":
        return ""
    votes = UnattestedVote.objects.filter(entry=entry, kind=kind)
    if votes.filter(person__in=caller.own_names).exists():
        return f"The same person called it {kind} before, without a right to attest."
    is_first = not votes.exists()
    UnattestedVote.objects.create(entry=entry, kind=kind, person=caller.person)
    if kind == "harmful" and is_first:
        return "A key that may not attest called it harmful; nobody else has so far."
    return ""
