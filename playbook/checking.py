"""Which gates a proposal goes through, with what they need to know of the playbook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from inference import tokens
from playbook import gates
from playbook.drafts import Item, Operation, Proposal
from playbook.gates import Gate
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    line,
)
from playbook.revisions import label

# What takes text out of the playbook, or may.
SHRINKING = (
    Operation.UPDATE,
    Operation.MERGE,
    Operation.DELETE,
    Operation.DEPRECATE,
)
# Changes outside a run count together with what the same actor did in this time.
WINDOW = timedelta(days=1)


def check(playbook: Playbook, item: Item) -> list[Gate]:
    """Every gate that speaks to this kind of proposal, read under the lock.

    A vote carries its evidence and changes no text. A person needs no evidence and may
    judge length and usefulness: for people the gates only tell.
    """
    proposal = item.proposal
    is_vote = proposal.operation == Operation.VOTE
    touched = [] if is_vote else _touched(proposal)
    found: list[Gate] = []
    if not proposal.is_by_person:
        found += _of_evidence(proposal, touched)
    if not is_vote and _text(proposal):
        found += _of_text(item)
    if proposal.operation in (Operation.ADD, Operation.RESTORE):
        found.append(_budget(playbook, proposal))
    if touched:
        found += _of_entries(playbook, proposal, touched)
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
    if proposal.content and proposal.operation != Operation.VOTE:
        held = [entry.content for entry in touched]
        yield gates.grounded(proposal.content, [*quotes, *held])
        yield gates.actionable(proposal.content)
        yield gates.specific(proposal.content)
        yield gates.not_one_off(proposal.content)


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
    yield _atomic(proposal)
    yield _secret(item)
    yield gates.not_instruction(_text(proposal))
    if proposal.content:
        yield _duplicate(item)
        yield _contradiction(item)


def _atomic(proposal: Proposal) -> Gate:
    """A person may write at length, and is told."""
    gate = gates.atomic(proposal.content or "")
    is_told = gate.verdict == "fail" and proposal.is_by_person
    return replace(gate, verdict="warn") if is_told else gate


def _secret(item: Item) -> Gate:
    """The texts are masked by now; `secrets` are the kinds that were found in them."""
    if not item.secrets:
        return Gate("secret", "pass", 0, 0)
    message = f"It contains a secret: {', '.join(item.secrets)}."
    return Gate("secret", "fail", len(item.secrets), 0, message)


def _duplicate(item: Item) -> Gate:
    near, verdict = item.match.neighbour, item.match.verdict
    if near and verdict in ("same", "alike", "wider"):
        gate = gates.duplicate(near.similarity)
        told = {
            "same": f"{near.entry.label} says it already.",
            "alike": f"{near.entry.label} is much like it; merge them or keep both.",
            "wider": f"{near.entry.label} says a part of it; update that one instead.",
        }
        is_known = verdict == "same" and gate.verdict == "fail"
        kind = gate.verdict if is_known else "warn"
        return replace(gate, verdict=kind, message=told[verdict])
    if item.vector is None:
        message = "It was not compared: the embedding model did not answer."
        return Gate("duplicate", "warn", "not compared", gates.SAME, message)
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


def _of_entries(
    playbook: Playbook, proposal: Proposal, touched: Sequence[PlaybookEntry]
) -> Iterator[Gate]:
    if not proposal.is_by_person:
        yield _protection(touched)
    if proposal.content:
        for entry in touched:
            yield gates.keeps_literals(entry.content, proposal.content)
        yield gates.keeps_words(touched[0].content, proposal.content)
    if not proposal.is_by_person and proposal.operation in SHRINKING:
        yield from _blast_radius(playbook, proposal, touched)


def _protection(touched: Sequence[PlaybookEntry]) -> Gate:
    entry = next((entry for entry in touched if entry.is_protected), None)
    if entry is None:
        return Gate("protection", "pass", "none", "none")
    kind = "locked" if entry.locked else "written by a person"
    message = f"{entry.label} is {kind}, so only a person changes it."
    return Gate("protection", "fail", kind, "none", message)


def _blast_radius(
    playbook: Playbook, proposal: Proposal, touched: Sequence[PlaybookEntry]
) -> Iterator[Gate]:
    """What is removed or shrunk together with what the run took out before.

    An update that takes nothing away is not counted.
    """
    first, *others = touched
    after = 0
    if proposal.operation in (Operation.UPDATE, Operation.MERGE):
        after = tokens.estimate(line(first.label, proposal.content or first.content))
    lost = sum(entry.tokens for entry in touched) - after
    if lost <= 0 and not others:
        return
    gone, gone_tokens = _taken_before(playbook, proposal, without=first)
    live = PlaybookEntry.objects.current().filter(project=playbook.project).count()
    yield gates.blast_radius(gone + 1 + len(others), live)
    yield gates.blast_radius(gone_tokens + max(lost, 0), playbook.tokens)


def _taken_before(
    playbook: Playbook, proposal: Proposal, *, without: PlaybookEntry
) -> tuple[int, int]:
    """Entries and tokens that were removed or shrunk, without a person."""
    together = Q(run_id=proposal.run_id)
    if proposal.run_id is None:
        since = timezone.now() - WINDOW
        together = Q(run_id=None, agent_id=proposal.agent_id, changed_at__gte=since)
    rows = PlaybookChange.objects.filter(
        together,
        project_id=playbook.project_id,
        delta_id__in=PlaybookDelta.objects.filter(
            status=PlaybookDelta.Status.APPLIED,
            project_id=playbook.project_id,
        )
        .exclude(producer=PlaybookDelta.Producer.HUMAN)
        .values("pk"),
    ).exclude(entry_id=without.pk)
    removed = rows.filter(operation=PlaybookChange.Operation.DELETE)
    gone = set(removed.values_list("entry_id", flat=True))
    lost = sum(
        tokens.estimate(text)
        for text in PlaybookEntry.objects.filter(pk__in=gone).values_list(
            "content", flat=True
        )
    )
    edited = rows.filter(before__has_key="content", after__has_key="content")
    for change in edited.only("entry_id", "before", "after"):
        old, new = (
            tokens.estimate(s["content"]) for s in (change.before, change.after)
        )
        if new < old:
            gone.add(change.entry_id)
            lost += old - new
    return len(gone), lost
