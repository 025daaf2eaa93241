"""Decide about a checked proposal, by the results of the gates and the project's policy."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from common.caller import Caller, Role
from playbook.models import PlaybookDelta
from playbook.proposals.proposed_change import Operation, Proposal
from playbook.rule_text.text_gates import SAME_COSINE, GateResult
from projects.models import Project

Status = PlaybookDelta.DeltaStatus

# If one of these gates fails, a person decides. If any other gate fails, the proposal is
# rejected.
PERSON_GATES = {
    "instruction",
    "danger",
    "outcome",
    "protection",
    "blast_radius",
    "shrink",
    "supply",
    "language",
}
# A proposal that fails one of these gates is in quarantine, whoever wrote it.
UNSAFE_GATES = {"instruction", "danger"}
ONLY_MENTIONED = "Nobody said it as a rule, so a person decides whether it is one."
IN_DOUBT = (
    "Agents are given the rule as contested until a person decides: accept to retire it, "
    "reject to confirm it."
)
FORGETS_MEMORY = (
    "Another key stored this memory. Accepted, it is deleted softly; restore the memory to "
    "have it back."
)
REMOVAL_OPERATIONS = {
    *(Operation.DELETE, Operation.DEPRECATE, Operation.MERGE),
    Operation.FORGET,
}


@dataclass(frozen=True)
class Decision:
    """The decision about a proposal.

    `reason` is a sentence for the reviewer. `risk` determines the order of the inbox.
    `repeats` is the id of an earlier delta with the same lesson. `needs_witness` says that
    the proposal would be applied if another person had shown the same repair. `confirms` is
    the waiting delta of another person that shows the same repair.
    """

    status: PlaybookDelta.DeltaStatus
    risk: str
    reason: str = ""
    repeats: uuid.UUID | None = None
    needs_witness: bool = False
    confirms: uuid.UUID | None = None


def decide(
    project: Project, proposal: Proposal, gates: Sequence[GateResult], caller: Caller
) -> Decision:
    """Decide whether a proposal is applied, waits or is rejected (docs/ace.md, "Policy")."""
    risk = _risk(proposal, gates)
    if risk == "quarantine":
        return Decision(Status.PENDING, risk, _messages(gates, UNSAFE_GATES))
    if proposal.operation == Operation.FORGET:
        return Decision(Status.PENDING, risk, FORGETS_MEMORY)
    if proposal.origin:
        not_passed = {gate.name for gate in gates if gate.verdict != "pass"}
        reason = f"It was imported, so a person decides. {_messages(gates, not_passed)}"
        return Decision(Status.PENDING, risk, reason.strip())
    if proposal.is_by_person:
        if not caller.may(Role.CURATOR, project.pk):
            return Decision(Status.PENDING, risk, "It waits for a curator.")
        if reason := _second_person_reason(gates, caller):
            return Decision(Status.PENDING, risk, reason)
        return Decision(Status.APPLIED, risk)
    failures = {gate.name for gate in gates if gate.verdict == "fail"}
    if hard_failures := failures - PERSON_GATES:
        return Decision(Status.REJECTED, risk, _messages(gates, hard_failures))
    if proposal.operation == Operation.VOTE:
        return Decision(Status.APPLIED, risk)
    not_passed = {gate.name for gate in gates if gate.verdict != "pass"}
    if not_passed:
        return Decision(Status.PENDING, risk, _messages(gates, not_passed))
    policy, attests = project.options.policy, caller.attests_in(project.pk)
    if policy != "manual" and proposal.repair_key and not attests:
        return _of_claimed_repair(proposal, risk)
    if proposal.is_mentioned_only:
        return Decision(Status.PENDING, risk, ONLY_MENTIONED)
    if proposal.doubt:
        return Decision(Status.PENDING, risk, IN_DOUBT)
    if reason := _policy_reason(policy, proposal, attests=attests):
        return Decision(Status.PENDING, risk, reason)
    return Decision(Status.APPLIED, risk)


def _second_person_reason(gates: Sequence[GateResult], caller: Caller) -> str:
    """Return why what a person's key writes waits for somebody who is signed in.

    A key may be in the hands of an agent, which a text that it read may have led. So what
    nearly has the words of a live rule, and perhaps says the opposite, waits as well.
    """
    if not caller.key_id:
        return ""
    far = {g.name for g in gates if g.name == "duplicate" and not _is_close(g)}
    return _messages(gates, {"supply", "language", "duplicate"} - far)


def _is_close(gate: GateResult) -> bool:
    return isinstance(gate.value, float) and gate.value >= SAME_COSINE


def _of_claimed_repair(proposal: Proposal, risk: str) -> Decision:
    """Let a repair wait: its calls are text that a key that may not attest has sent."""
    reason = (
        "A key that may not attest reported this repair. It is applied once another "
        "person's key shows the same repair, or a person accepts it."
    )
    is_addition = proposal.operation == Operation.ADD and not proposal.targets
    return Decision(Status.PENDING, risk, reason, needs_witness=is_addition)


def _policy_reason(policy: str, proposal: Proposal, *, attests: bool) -> str:
    if policy == "manual":
        return "The project's policy is manual: every change waits for a person."
    if not (proposal.is_trusted or attests):
        return (
            "A key that may not attest reported it, and what other agents read is not "
            "decided by its word alone, so a person decides."
        )
    if policy == "auto":
        return ""
    # What calls did is no word of the agent, if the key may attest to the calls.
    if not (proposal.is_trusted or proposal.shows_calls):
        return "It rests on the agent's own word alone, so a person decides."
    if proposal.operation != Operation.ADD or proposal.targets:
        return (
            "The project's policy is assisted: only votes and additions are applied "
            "without a person."
        )
    return ""


def _risk(proposal: Proposal, gates: Sequence[GateResult]) -> str:
    not_passed = {gate.name for gate in gates if gate.verdict != "pass"}
    if any(gate.name in UNSAFE_GATES and gate.verdict == "fail" for gate in gates):
        return "quarantine"
    if not_passed & PERSON_GATES or proposal.operation in REMOVAL_OPERATIONS:
        return "high"
    if not_passed or proposal.operation == Operation.UPDATE:
        return "medium"
    return "low"


def _messages(gates: Sequence[GateResult], names: set[str]) -> str:
    messages = [g.message for g in gates if g.name in names and g.verdict != "pass"]
    return " ".join(filter(None, messages))
