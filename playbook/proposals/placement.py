"""Turn a learned addition into a vote if an entry says the same."""

from __future__ import annotations

from dataclasses import replace

from playbook.entries.matches import Match
from playbook.models import PlaybookEntry
from playbook.proposals.proposed_change import Operation, Proposal


def place(proposal: Proposal, match: Match) -> Proposal:
    """Turn an addition by a run into a vote for the entry that says the same.

    Other proposals stay unchanged, because a vote needs a run.
    """
    if proposal.operation != Operation.ADD or proposal.run_id is None:
        return proposal
    if match.neighbour and match.verdict == "same":
        return to_vote(proposal, match.neighbour.entry)
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
