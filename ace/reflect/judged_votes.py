"""Change the votes of the rules by a model's judgement, within what the outcome allows."""

from __future__ import annotations

from dataclasses import replace

from playbook.history.votes import Vote, VoteKind

# The outcomes of a task on which an entry may be called helpful, and harmful.
_ALLOWED: dict[str, tuple[str, ...]] = {
    "helpful": ("success",),
    "harmful": ("failure", "partial"),
}
_JUDGED = "A language model judged it so, by a quote of the run."
_DOUBTED = "The rules and a language model disagree about it."


def change(vote: Vote, verdict: VoteKind, outcome: str) -> Vote:
    """Return the vote on an entry about which the model has another opinion.

    The model gives an entry its first vote, or takes away the vote of the rules. It never
    turns one into its opposite.
    """
    if vote.kind != "neutral":
        return replace(vote, kind="neutral", reason=_DOUBTED)
    if outcome in _ALLOWED.get(verdict, ()):
        return replace(vote, kind=verdict, reason=_JUDGED)
    return vote
