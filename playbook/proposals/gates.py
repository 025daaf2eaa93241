"""Which gates a proposal goes through, with what they need to know of the playbook."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference import tokens
from playbook.history import votes
from playbook.history.revision import next_label
from playbook.models import Playbook, PlaybookEntry, format_line
from playbook.proposals import removal_limit
from playbook.proposals.proposed_change import (
    Operation,
    PreparedProposal,
    Producer,
    Proposal,
)
from playbook.rule_text import text_gates
from playbook.rule_text.text_gates import GateResult

SURROUNDING_CHARS = (
    300  # characters before and after a quote: an attack and what it is after
)
# What the gate says of a text that has no vector yet.
NOT_COMPARED = "not compared"


def evaluate(
    playbook: Playbook, item: PreparedProposal, *, key_id: uuid.UUID | None = None
) -> list[GateResult]:
    """Every gate that speaks to this kind of proposal, read under the lock.

    A vote carries its evidence and changes no text. A person needs no evidence and may
    judge length and usefulness: for people the gates only tell. `key_id` is the key
    that proposes it.
    """
    proposal = item.proposal
    is_vote = proposal.operation == Operation.VOTE
    touched = [] if is_vote else _affected_entries(proposal)
    found: list[GateResult] = []
    if proposal.origin:
        found += _import_gates(proposal)
    elif not proposal.is_by_person:
        found += _evidence_gates(proposal, touched)
    elif proposal.evidence:
        found.append(_as_warning(_verbatim(proposal)))
    if not is_vote and _full_text(proposal):
        found += _content_gates(item)
    if proposal.operation in (Operation.ADD, Operation.RESTORE):
        found.append(_budget(playbook, proposal))
    if touched:
        found += _entry_gates(proposal, touched)
    takes_out = (
        proposal.operation in removal_limit.TEXT_REMOVING_OPERATIONS or proposal.targets
    )
    if takes_out and (proposal.origin or not proposal.is_by_person):
        found += removal_limit.removal_gates(playbook, proposal, touched, key_id=key_id)
    return found


def _affected_entries(proposal: Proposal) -> list[PlaybookEntry]:
    """The entry of a proposal, and those that a merge would take up."""
    named = [target["id"] for target in proposal.targets]
    others = PlaybookEntry.objects.light().filter(pk__in=named) if named else []
    return [*filter(None, [proposal.entry]), *others]


def _full_text(proposal: Proposal) -> str:
    parts = (proposal.content, proposal.condition, proposal.action)
    return "\n".join(filter(None, parts))


def _evidence_gates(
    proposal: Proposal, touched: Sequence[PlaybookEntry]
) -> Iterator[GateResult]:
    """Only what brings in text must prove it; a vote's quotes are compared as well."""
    teaches = proposal.operation in (Operation.ADD, Operation.UPDATE, Operation.VOTE)
    quotes = [quote.quote for quote in proposal.evidence]
    if teaches and (proposal.content or proposal.evidence):
        if proposal.run_id:
            yield text_gates.check_outcome(proposal.outcome)
        yield text_gates.check_quote(quotes)
    if proposal.evidence:
        yield _verbatim(proposal)
        yield text_gates.check_surroundings([*_surroundings(proposal)])
    if proposal.operation in (Operation.DELETE, Operation.RESTORE):
        yield _as_warning(text_gates.check_quote(quotes))
    if proposal.content and proposal.operation != Operation.VOTE:
        held = [entry.content for entry in touched]
        yield text_gates.check_grounding(proposal.content, [*quotes, *held])
        yield from _usefulness_gates(proposal)


def _import_gates(proposal: Proposal) -> Iterator[GateResult]:
    """It comes without a run, long and from one case as it may be."""
    if proposal.content:
        yield _as_warning(text_gates.check_actionable(proposal.content))
        yield _as_warning(text_gates.check_specific(proposal.content))


def _usefulness_gates(proposal: Proposal) -> Iterator[GateResult]:
    """What is made of entries was let in before: of a merge these only tell."""
    asked = (
        text_gates.check_actionable,
        text_gates.check_specific,
        text_gates.check_one_off,
    )
    for gate in asked:
        found = gate(proposal.content or "")
        yield _as_warning(found) if proposal.operation == Operation.MERGE else found


def _surroundings(proposal: Proposal) -> Iterator[str]:
    """What stands around each quote: who is quoted may have been told what to say."""
    for quote in proposal.evidence:
        text = proposal.sources.get(quote.field, "")
        yield text[
            max(quote.start - SURROUNDING_CHARS, 0) : quote.end + SURROUNDING_CHARS
        ]


def _verbatim(proposal: Proposal) -> GateResult:
    """Each quote is what its field says from start to end."""
    wrong = [
        quote.field
        for quote in proposal.evidence
        if proposal.sources.get(quote.field, "")[quote.start : quote.end] != quote.quote
    ]
    if not wrong:
        return GateResult("verbatim", "pass", 0, 0)
    named = ", ".join(dict.fromkeys(wrong))
    message = f"A quote is not what the run says there: {named}."
    return GateResult("verbatim", "fail", len(wrong), 0, message)


def _content_gates(item: PreparedProposal) -> Iterator[GateResult]:
    proposal = item.proposal
    if not proposal.origin:
        yield _atomic(proposal)
    yield _secret(item)
    yield text_gates.check_instruction(_full_text(proposal))
    if proposal.content:
        yield _duplicate(item)
        yield _contradiction(item)


def _atomic(proposal: Proposal) -> GateResult:
    """A person may write at length, and two long entries make a long one."""
    gate = text_gates.check_atomic(proposal.content or "")
    is_merge = proposal.operation == Operation.MERGE
    return _as_warning(gate) if proposal.is_by_person or is_merge else gate


def _as_warning(gate: GateResult) -> GateResult:
    """A gate that holds what it would refuse."""
    return replace(gate, verdict="warn") if gate.verdict == "fail" else gate


def _secret(item: PreparedProposal) -> GateResult:
    """The texts are masked by now; `secrets` are the kinds that were found in them."""
    if not item.secrets:
        return GateResult("secret", "pass", 0, 0)
    message = f"It contains a secret: {', '.join(item.secrets)}."
    return GateResult("secret", "fail", len(item.secrets), 0, message)


def _duplicate(item: PreparedProposal) -> GateResult:
    near, verdict = item.match.neighbour, item.match.verdict
    if near and verdict in ("same", "alike", "wider", "both"):
        gate = text_gates.check_duplicate(near.similarity)
        told = {
            "same": f"{near.entry.label} says it already.",
            "alike": f"{near.entry.label} is much like it; merge them or keep both.",
            "wider": f"{near.entry.label} says a part of it; update that one instead.",
            "both": f"{near.entry.label} says a part of it, and more; merge the two.",
        }
        is_known = verdict == "same" and gate.verdict == "fail"
        kind = gate.verdict if is_known else "warn"
        return replace(gate, verdict=kind, message=told[verdict])
    if item.vector is None:
        why = "a job does it" if item.proposal.origin else "the model did not answer"
        message = f"It was not compared with the playbook: {why}."
        return GateResult(
            "duplicate", "warn", NOT_COMPARED, text_gates.SAME_COSINE, message
        )
    # A neighbour that names other things is no duplicate, however near.
    return text_gates.check_duplicate(None)


def _contradiction(item: PreparedProposal) -> GateResult:
    near = item.match.neighbour
    if item.match.verdict != "against" or near is None:
        return GateResult("contradiction", "pass", "none", "none")
    message = f"It speaks against {near.entry.label}: {near.disagreement}."
    return GateResult("contradiction", "fail", near.entry.label, "none", message)


def _budget(playbook: Playbook, proposal: Proposal) -> GateResult:
    if proposal.entry:
        added = proposal.entry.line
    else:
        name = next_label(playbook, proposal.category or "")
        added = format_line(name, proposal.content or "")
    budget = playbook.project.options.budgets.playbook_tokens
    return text_gates.check_budget(playbook.tokens, tokens.estimate(added), budget)


def _entry_gates(
    proposal: Proposal, touched: Sequence[PlaybookEntry]
) -> Iterator[GateResult]:
    if not proposal.is_by_person:
        yield _protection(touched)
    if (
        proposal.operation == Operation.DEPRECATE
        and proposal.producer == Producer.MODEL
    ):
        yield _refutation(touched[0])
    if proposal.content:
        for entry in touched:
            yield text_gates.check_literals(entry.content, proposal.content)
        yield text_gates.check_words(touched[0].content, proposal.content)


def _refutation(entry: PlaybookEntry) -> GateResult:
    """A model's word alone retires nothing that has served."""
    lead = entry.harmful - entry.helpful
    if votes.is_refuted(entry):
        return GateResult("refuted", "pass", lead, votes.HARMFUL_LEAD)
    message = f"The votes for {entry.label} have not refuted it."
    return GateResult("refuted", "warn", lead, votes.HARMFUL_LEAD, message)


def _protection(touched: Sequence[PlaybookEntry]) -> GateResult:
    entry = next((entry for entry in touched if entry.is_protected), None)
    if entry is None:
        return GateResult("protection", "pass", "none", "none")
    kind = "locked" if entry.locked else "written by a person"
    message = f"{entry.label} is {kind}, so only a person changes it."
    return GateResult("protection", "fail", kind, "none", message)
