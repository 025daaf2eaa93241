"""Run the gates that apply to a proposal, with the data that the gates need."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from common.text import plain_text as texts
from common.text.supply import describe_text
from inference import tokens
from playbook.history import live_guard, votes
from playbook.history.revision import next_label
from playbook.models import Playbook, PlaybookEntry, format_line
from playbook.proposals import removal_limit
from playbook.proposals.proposed_change import (
    WRITES_TEXT,
    Operation,
    PreparedProposal,
    Producer,
    Proposal,
)
from playbook.rule_text import text_gates, unsafe_phrases
from playbook.rule_text.text_gates import GateResult
from projects.own_hosts import find_own_hosts

# Number of characters before and after a quote that are searched for an injection.
SURROUNDING_CHARS = 300
# The value of the gate `duplicate` for a text without a vector.
NOT_COMPARED = "not compared"


def evaluate(
    playbook: Playbook, item: PreparedProposal, *, key_id: uuid.UUID | None = None
) -> list[GateResult]:
    """Run every gate that applies to this kind of proposal, under the playbook's lock.

    What changes no entry (`forget`) is only checked for its words. A vote has
    evidence and changes no text. A person needs no evidence, and a person
    decides about length and usefulness. For a person, the gates of length and
    usefulness therefore only warn. `key_id` is the key that proposes the change.
    """
    proposal = item.proposal
    if proposal.operation == Operation.FORGET:
        return list(_safety_gates(playbook, proposal.reason))
    is_vote = proposal.operation == Operation.VOTE
    entries = [] if is_vote else _affected_entries(proposal)
    results: list[GateResult] = []
    if proposal.origin:
        results += _import_gates(proposal)
    elif not proposal.is_by_person:
        results += _evidence_gates(proposal, entries)
    elif proposal.evidence:
        results.append(_as_warning(_verbatim(proposal)))
    if not is_vote and proposal.content:
        results.append(_supply(proposal))
        if not proposal.is_by_person:
            results.append(text_gates.check_foreign(proposal.foreign))
    if proposal.applies_to and not proposal.is_by_person and not is_vote:
        results.append(_reach(proposal))
    if not is_vote and _full_text(proposal):
        results += _content_gates(item)
    if text := _resulting_text(proposal):
        results += _safety_gates(playbook, text)
    if proposal.operation in (Operation.ADD, Operation.RESTORE):
        results.append(_budget(playbook, proposal))
    if entries:
        results += _entry_gates(proposal, entries)
    takes_out = (
        proposal.operation in removal_limit.TEXT_REMOVING_OPERATIONS or proposal.targets
    )
    if takes_out and (proposal.origin or not proposal.is_by_person):
        results += removal_limit.removal_gates(
            playbook, proposal, entries, key_id=key_id
        )
    return results


def _affected_entries(proposal: Proposal) -> list[PlaybookEntry]:
    """Load the entry of a proposal and the other entries of a merge."""
    ids = [target["id"] for target in proposal.targets]
    others = PlaybookEntry.objects.light().filter(pk__in=ids) if ids else []
    return [*filter(None, [proposal.entry]), *others]


def _full_text(proposal: Proposal) -> str:
    parts = (proposal.content, proposal.condition, proposal.action)
    return "\n".join(filter(None, parts))


def _resulting_text(proposal: Proposal) -> str:
    """Return the text that the proposal would make live.

    An entry keeps the columns that the proposal does not set. Where only tags change,
    they are the text.
    """
    entry, restores = proposal.entry, proposal.operation == Operation.RESTORE
    if proposal.operation not in (*WRITES_TEXT, Operation.RESTORE, Operation.TAG):
        return ""
    columns = {name: proposal.rule_column(name) for name in live_guard.RULE_COLUMNS}
    tags = proposal.tags or (entry.tags if entry and restores else ())
    if entry is None or restores or _changes_rule(entry, columns):
        return unsafe_phrases.join_columns(**columns, tags=tags)
    return "\n".join(tags)


def _changes_rule(entry: PlaybookEntry, columns: Mapping[str, str]) -> bool:
    return any(getattr(entry, name) != value for name, value in columns.items())


def _safety_gates(playbook: Playbook, text: str) -> Iterator[GateResult]:
    yield text_gates.check_instruction(text)
    yield text_gates.check_danger(text, find_own_hosts(playbook.project))
    yield text_gates.check_language(text)


def _evidence_gates(
    proposal: Proposal, entries: Sequence[PlaybookEntry]
) -> Iterator[GateResult]:
    """Check the evidence.

    A new text needs evidence. The quotes of a vote are only compared with their
    sources.
    """
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
        texts = [entry.content for entry in entries]
        yield text_gates.check_grounding(proposal.content, [*quotes, *texts])
        yield from _usefulness_gates(proposal)


def _import_gates(proposal: Proposal) -> Iterator[GateResult]:
    """Check an imported text.

    An imported text has no run. The text may be long or specific to one case.
    """
    if proposal.content:
        yield _as_warning(text_gates.check_actionable(proposal.content))
        yield _as_warning(text_gates.check_specific(proposal.content))


def _usefulness_gates(proposal: Proposal) -> Iterator[GateResult]:
    """Check usefulness.

    A merge of accepted entries only gets warnings, and so does what a person says is to last:
    they may well mean every task, or a date.
    """
    is_meant = proposal.operation == Operation.MERGE or proposal.is_lasting_wish
    checks = (
        text_gates.check_actionable,
        text_gates.check_specific,
        text_gates.check_one_off,
    )
    for check in checks:
        result = check(proposal.content or "")
        yield _as_warning(result) if is_meant else result


def _surroundings(proposal: Proposal) -> Iterator[str]:
    """Yield the text around each quote.

    This text may have dictated what the quote says.
    """
    for quote in proposal.evidence:
        text = proposal.sources.get(quote.field, "")
        yield text[
            max(quote.start - SURROUNDING_CHARS, 0) : quote.end + SURROUNDING_CHARS
        ]


def _verbatim(proposal: Proposal) -> GateResult:
    """Check that each quote equals the text of its field between the quote's start and end."""
    wrong = [
        quote.field
        for quote in proposal.evidence
        if proposal.sources.get(quote.field, "")[quote.start : quote.end] != quote.quote
    ]
    if not wrong:
        return GateResult("verbatim", "pass", 0, 0)
    fields = ", ".join(dict.fromkeys(wrong))
    message = f"A quote differs from the text of the run: {fields}."
    return GateResult("verbatim", "fail", len(wrong), 0, message)


def _supply(proposal: Proposal) -> GateResult:
    """Check whether the text leads to another package, remote, host or index.

    For the repair of a call the two calls were compared, which says more than its text.
    """
    is_compared = bool(proposal.repair_key)
    in_text = "" if is_compared else describe_text(_full_text(proposal))
    return text_gates.check_supply(proposal.supply or in_text)


def _reach(proposal: Proposal) -> GateResult:
    """Check that the evidence shows where the rule is to apply.

    The rules themselves read it from the evidence; a language model or an agent names it.
    """
    quotes = [quote.quote for quote in proposal.evidence]
    is_of_people = any(q.field in ("feedback", "goal") for q in proposal.evidence)
    return text_gates.check_reach(
        proposal.applies_to or (),
        "\n".join([_full_text(proposal), *quotes]),
        may_be_always=is_of_people or proposal.producer == Producer.RULE,
    )


def _content_gates(item: PreparedProposal) -> Iterator[GateResult]:
    proposal = item.proposal
    if not proposal.origin:
        yield _atomic(proposal)
    yield _secret(item)
    if proposal.content:
        yield _duplicate(item)


def _atomic(proposal: Proposal) -> GateResult:
    """Check the length.

    For a person, or for a merge of long entries, a failed check is only a warning.
    """
    gate = text_gates.check_atomic(proposal.content or "")
    is_merge = proposal.operation == Operation.MERGE
    return _as_warning(gate) if proposal.is_by_person or is_merge else gate


def _as_warning(gate: GateResult) -> GateResult:
    """Turn a failed result into a warning."""
    return replace(gate, verdict="warn") if gate.verdict == "fail" else gate


def _secret(item: PreparedProposal) -> GateResult:
    """Check for secrets.

    The texts are masked already. `secrets` are the kinds of secrets that were found.
    """
    if not item.secrets:
        return GateResult("secret", "pass", 0, 0)
    message = f"It contains a secret: {', '.join(item.secrets)}."
    return GateResult("secret", "fail", len(item.secrets), 0, message)


def _duplicate(item: PreparedProposal) -> GateResult:
    near, verdict = item.match.neighbour, item.match.verdict
    if near and verdict == "same":
        gate = text_gates.check_duplicate(near.similarity)
        return replace(gate, message=f"{near.entry.label} already says it.")
    is_of_person = item.proposal.is_by_person and not item.proposal.origin
    if near and not (item.match.names_others and is_of_person):
        gate = text_gates.check_duplicate(near.similarity)
        message = (
            f'{near.entry.label} is near: "{texts.clip(near.entry.content, 200)}". The two '
            "may say the same or the opposite: merge them, replace one, or keep both."
        )
        return replace(gate, verdict="warn", message=message)
    if item.vector is None:
        is_import = bool(item.proposal.origin)
        why = "the import is large" if is_import else "the model did not answer"
        message = f"It was not compared with the playbook: {why}."
        return GateResult(
            "duplicate", "warn", NOT_COMPARED, text_gates.SAME_COSINE, message
        )
    # A neighbour that names other things is no duplicate, even if its cosine is high.
    return text_gates.check_duplicate(None)


def _budget(playbook: Playbook, proposal: Proposal) -> GateResult:
    if proposal.entry:
        added = format_line(proposal.entry.label, proposal.entry.content)
    else:
        name = next_label(playbook, proposal.category or "")
        added = format_line(name, proposal.content or "")
    budget = playbook.project.options.budgets.playbook_tokens
    return text_gates.check_budget(playbook.tokens, tokens.estimate(added), budget)


def _entry_gates(
    proposal: Proposal, entries: Sequence[PlaybookEntry]
) -> Iterator[GateResult]:
    if not proposal.is_by_person:
        yield _protection(entries)
    if (
        proposal.operation == Operation.DEPRECATE
        and proposal.producer == Producer.MODEL
    ):
        yield _refutation(entries[0])
    if proposal.content:
        for entry in entries:
            yield text_gates.check_literals(entry.content, proposal.content)
        yield text_gates.check_words(entries[0].content, proposal.content)


def _refutation(entry: PlaybookEntry) -> GateResult:
    """Check that votes refute the entry, and not only a model."""
    lead = entry.harmful - entry.helpful
    if votes.is_refuted(entry):
        return GateResult("refuted", "pass", lead, votes.HARMFUL_LEAD)
    message = f"The votes for {entry.label} have not refuted it."
    return GateResult("refuted", "warn", lead, votes.HARMFUL_LEAD, message)


def _protection(entries: Sequence[PlaybookEntry]) -> GateResult:
    entry = next((entry for entry in entries if entry.is_protected), None)
    if entry is None:
        return GateResult("protection", "pass", "none", "none")
    kind = "locked" if entry.locked else "written by a person"
    message = f"{entry.label} is {kind}, so only a person may change it."
    return GateResult("protection", "fail", kind, "none", message)
