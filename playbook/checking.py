"""Which gates a proposal goes through, with what they need to know of the playbook."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference import tokens
from playbook import blast, gates, votes
from playbook.drafts import Item, Operation, Producer, Proposal
from playbook.gates import Gate
from playbook.models import Playbook, PlaybookEntry, line
from playbook.revisions import label

AROUND = 300  # characters before and after a quote: an attack and what it is after
# What the gate says of a text that has no vector yet.
NOT_COMPARED = "not compared"


def check(
    playbook: Playbook, item: Item, *, key_id: uuid.UUID | None = None
) -> list[Gate]:
    """Every gate that speaks to this kind of proposal, read under the lock.

    A vote carries its evidence and changes no text. A person needs no evidence and may
    judge length and usefulness: for people the gates only tell. `key_id` is the key
    that proposes it.
    """
    proposal = item.proposal
    is_vote = proposal.operation == Operation.VOTE
    touched = [] if is_vote else _touched(proposal)
    found: list[Gate] = []
    if proposal.origin:
        found += _of_import(proposal)
    elif not proposal.is_by_person:
        found += _of_evidence(proposal, touched)
    elif proposal.evidence:
        found.append(_told(_verbatim(proposal)))
    if not is_vote and _text(proposal):
        found += _of_text(item)
    if proposal.operation in (Operation.ADD, Operation.RESTORE):
        found.append(_budget(playbook, proposal))
    if touched:
        found += _of_entries(proposal, touched)
    takes_out = proposal.operation in blast.TAKES_OUT or proposal.targets
    if takes_out and (proposal.origin or not proposal.is_by_person):
        found += blast.radius(playbook, proposal, touched, key_id=key_id)
    return found


def _touched(proposal: Proposal) -> list[PlaybookEntry]:
    """The entry of a proposal, and those that a merge would take up."""
    named = [target["id"] for target in proposal.targets]
    others = PlaybookEntry.objects.light().filter(pk__in=named) if named else []
    return [*filter(None, [proposal.entry]), *others]


def _text(proposal: Proposal) -> str:
    parts = (proposal.content, proposal.condition, proposal.action)
    return "\n".join(filter(None, parts))


def _of_evidence(
    proposal: Proposal, touched: Sequence[PlaybookEntry]
) -> Iterator[Gate]:
    """Only what brings in text must prove it; a vote's quotes are compared as well."""
    teaches = proposal.operation in (Operation.ADD, Operation.UPDATE, Operation.VOTE)
    quotes = [quote.quote for quote in proposal.evidence]
    if teaches and (proposal.content or proposal.evidence):
        if proposal.run_id:
            yield gates.outcome_known(proposal.outcome)
        yield gates.has_quote(quotes)
    if proposal.evidence:
        yield _verbatim(proposal)
        yield gates.not_from_an_attack([*_surroundings(proposal)])
    if proposal.operation in (Operation.DELETE, Operation.RESTORE):
        yield _told(gates.has_quote(quotes))
    if proposal.content and proposal.operation != Operation.VOTE:
        held = [entry.content for entry in touched]
        yield gates.grounded(proposal.content, [*quotes, *held])
        yield from _of_usefulness(proposal)


def _of_import(proposal: Proposal) -> Iterator[Gate]:
    """It comes without a run, long and from one case as it may be."""
    if proposal.content:
        yield _told(gates.actionable(proposal.content))
        yield _told(gates.specific(proposal.content))


def _of_usefulness(proposal: Proposal) -> Iterator[Gate]:
    """What is made of entries was let in before: of a merge these only tell."""
    asked = (gates.actionable, gates.specific, gates.not_one_off)
    for gate in asked:
        found = gate(proposal.content or "")
        yield _told(found) if proposal.operation == Operation.MERGE else found


def _surroundings(proposal: Proposal) -> Iterator[str]:
    """What stands around each quote: who is quoted may have been told what to say."""
    for quote in proposal.evidence:
        text = proposal.sources.get(quote.field, "")
        yield text[max(quote.start - AROUND, 0) : quote.end + AROUND]


def _verbatim(proposal: Proposal) -> Gate:
    """Each quote is what its field says from start to end."""
    wrong = [
        quote.field
        for quote in proposal.evidence
        if proposal.sources.get(quote.field, "")[quote.start : quote.end] != quote.quote
    ]
    if not wrong:
        return Gate("verbatim", "pass", 0, 0)
    named = ", ".join(dict.fromkeys(wrong))
    message = f"A quote is not what the run says there: {named}."
    return Gate("verbatim", "fail", len(wrong), 0, message)


def _of_text(item: Item) -> Iterator[Gate]:
    proposal = item.proposal
    if not proposal.origin:
        yield _atomic(proposal)
    yield _secret(item)
    yield gates.not_instruction(_text(proposal))
    if proposal.content:
        yield _duplicate(item)
        yield _contradiction(item)


def _atomic(proposal: Proposal) -> Gate:
    """A person may write at length, and two long entries make a long one."""
    gate = gates.atomic(proposal.content or "")
    is_merge = proposal.operation == Operation.MERGE
    return _told(gate) if proposal.is_by_person or is_merge else gate


def _told(gate: Gate) -> Gate:
    """A gate that holds what it would refuse."""
    return replace(gate, verdict="warn") if gate.verdict == "fail" else gate


def _secret(item: Item) -> Gate:
    """The texts are masked by now; `secrets` are the kinds that were found in them."""
    if not item.secrets:
        return Gate("secret", "pass", 0, 0)
    message = f"It contains a secret: {', '.join(item.secrets)}."
    return Gate("secret", "fail", len(item.secrets), 0, message)


def _duplicate(item: Item) -> Gate:
    near, verdict = item.match.neighbour, item.match.verdict
    if near and verdict in ("same", "alike", "wider", "both"):
        gate = gates.duplicate(near.similarity)
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
        return Gate("duplicate", "warn", NOT_COMPARED, gates.SAME, message)
    # A neighbour that names other things is no duplicate, however near.
    return gates.duplicate(None)


def _contradiction(item: Item) -> Gate:
    near = item.match.neighbour
    if item.match.verdict != "against" or near is None:
        return Gate("contradiction", "pass", "none", "none")
    message = f"It speaks against {near.entry.label}: {near.disagreement}."
    return Gate("contradiction", "fail", near.entry.label, "none", message)


def _budget(playbook: Playbook, proposal: Proposal) -> Gate:
    if proposal.entry:
        added = proposal.entry.line
    else:
        name = label(playbook, proposal.category or "")
        added = line(name, proposal.content or "")
    budget = playbook.project.options.budgets.playbook_tokens
    return gates.within_budget(playbook.tokens, tokens.estimate(added), budget)


def _of_entries(proposal: Proposal, touched: Sequence[PlaybookEntry]) -> Iterator[Gate]:
    if not proposal.is_by_person:
        yield _protection(touched)
    if (
        proposal.operation == Operation.DEPRECATE
        and proposal.producer == Producer.MODEL
    ):
        yield _refuted(touched[0])
    if proposal.content:
        for entry in touched:
            yield gates.keeps_literals(entry.content, proposal.content)
        yield gates.keeps_words(touched[0].content, proposal.content)


def _refuted(entry: PlaybookEntry) -> Gate:
    """A model's word alone retires nothing that has served."""
    lead = entry.harmful - entry.helpful
    if votes.is_refuted(entry):
        return Gate("refuted", "pass", lead, votes.HARMFUL_LEAD)
    message = f"The votes for {entry.label} have not refuted it."
    return Gate("refuted", "warn", lead, votes.HARMFUL_LEAD, message)


def _protection(touched: Sequence[PlaybookEntry]) -> Gate:
    entry = next((entry for entry in touched if entry.is_protected), None)
    if entry is None:
        return Gate("protection", "pass", "none", "none")
    kind = "locked" if entry.locked else "written by a person"
    message = f"{entry.label} is {kind}, so only a person changes it."
    return Gate("protection", "fail", kind, "none", message)
