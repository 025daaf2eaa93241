"""Turn a learned addition into a vote, an update or a merge if a near entry exists."""

from __future__ import annotations

from dataclasses import replace

from playbook.entries.matches import Match
from playbook.entries.neighbours import Neighbour
from playbook.models import PlaybookEntry
from playbook.proposals.proposed_change import Operation, Proposal


def place(proposal: Proposal, match: Match) -> Proposal:
    """Turn an addition by a run into a vote, an update or a merge, as its match requires.

    Other proposals stay unchanged, because a vote needs a run.
    """
    if proposal.operation != Operation.ADD or proposal.run_id is None:
        return proposal
    if match.neighbour and match.verdict == "same":
        return to_vote(proposal, match.neighbour.entry)
    if match.neighbour and match.verdict == "wider":
        return to_update(proposal, match.neighbour)
    if match.neighbour and match.verdict == "both":
        return to_merge(proposal, match.neighbour, match.merged_text)
    return proposal


def to_vote(proposal: Proposal, entry: PlaybookEntry) -> Proposal:
    """Turn a lesson that an entry already teaches into a vote for the entry.

    If only the agent itself reports the outcome, or if the words come from a foreign text,
    the vote is neutral.
    """
    return replace(
        proposal,
        operation=Operation.VOTE,
        entry=entry,
        vote="helpful" if proposal.is_trusted and not proposal.foreign else "neutral",
        reason=f"{entry.label} teaches this already. {proposal.reason}".strip(),
    )


def to_update(proposal: Proposal, near: Neighbour) -> Proposal:
    """Turn a lesson that says more than an entry into an update of the entry's text.

    The lesson must say everything that the entry says.
    """
    return replace(
        proposal,
        operation=Operation.UPDATE,
        entry=near.entry,
        expected_version=near.entry.version,
        # The entry keeps its category, its tags and where it applies.
        category=None,
        tags=None,
        applies_to=None,
        reason=f"It says what {near.entry.label} says and more "
        f"(cosine {near.similarity}). {proposal.reason}".strip(),
    )


def to_merge(proposal: Proposal, near: Neighbour, text: str) -> Proposal:
    """Turn a lesson into an update of an entry.

    The new text says what the lesson and the entry say.
    """
    return replace(
        to_update(proposal, near),
        content=text,
        reason=f"It adds to what {near.entry.label} says "
        f"(cosine {near.similarity}). {proposal.reason}".strip(),
    )
