"""Decide about a checked change: trust is who speaks, in one table for rules and models."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import Q

from access.models import ApiKey
from common.caller import Caller, Role
from playbook.entries.neighbours import MERGE_COSINE
from playbook.lessons.draft import Basis, Draft, Operation, Producer
from playbook.lessons.gates import GateResult
from playbook.models import PlaybookDelta
from projects.models import Membership, Project

Status = PlaybookDelta.DeltaStatus
When = Literal["at once", "second person", "waits"]


@dataclass(frozen=True)
class Trust:
    """When a lesson is given to the speaker's own agents, and to everybody else's.

    `why` is the sentence for the reviewer of a lesson that waits.
    """

    own: When
    others: When
    why: str = ""


# What is live at once for the speaker's own agents is live in a project with one member.
TABLE = {
    # a failing and a curing call of one person, at once only from a key that may attest
    Basis.CURE: Trust(
        "at once",
        "second person",
        "It is applied once another person's key shows the same fix, or a person accepts it.",
    ),
    # words of the person who speaks: a prompt, a refused call, the feedback of a curator
    Basis.PERSON: Trust(
        "at once", "waits", "One person said it, so a person decides for the others."
    ),
    # feedback of a curator's key that says that it lasts, in its whole sentences
    Basis.LASTING: Trust("at once", "at once"),
    # tests or environment of an attesting key
    Basis.TEST: Trust("at once", "at once"),
    # an agent's own words, foreign pages, and whatever is unsafe
    Basis.WORD: Trust(
        "waits", "waits", "It rests on the agent's own word alone, so a person decides."
    ),
}
IN_DOUBT = (
    "Agents are given the rule as contested until a person decides: reject to confirm it, "
    "accept to change it."
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
    """The decision about a change, and a sentence for the reviewer.

    `risk` determines the order of the inbox. `served` are the persons whose agents are given
    a waiting lesson. `needs_witness` says that a second person who shows the same fix brings
    it into force. `repeats` is the delta that has the same lesson, and `confirms` the waiting
    one of another person.
    """

    status: PlaybookDelta.DeltaStatus
    risk: str
    reason: str = ""
    served: tuple[str, ...] = ()
    needs_witness: bool = False
    repeats: uuid.UUID | None = None
    confirms: uuid.UUID | None = None


def decide(
    project: Project, draft: Draft, results: Sequence[GateResult], caller: Caller
) -> Decision:
    """Decide whether a change is applied, waits or is rejected (docs/ace.md, "Policy")."""
    delta, risk = draft.delta, rate_risk(draft.delta, results)
    failed = _messages(gate for gate in results if gate.verdict == "fail")
    open_gates = [gate for gate in results if gate.verdict == "warn"]
    warned = _messages(open_gates)
    if risk == "quarantine":
        return Decision(Status.PENDING, risk, failed)
    if delta.operation == Operation.FORGET:
        return Decision(Status.PENDING, risk, FORGETS_MEMORY)
    if draft.is_imported:
        reason = f"It was imported, so a person decides. {failed} {warned}"
        return Decision(Status.PENDING, risk, " ".join(reason.split()))
    if draft.is_by_person:
        return _decide_for_person(project, draft, open_gates, caller, risk)
    if failed:
        return Decision(Status.REJECTED, risk, failed)
    if delta.operation == Operation.VOTE:
        return Decision(Status.APPLIED, risk)
    near = draft.match.neighbour
    if near and draft.match.verdict == "same":
        return Decision(Status.REJECTED, risk, f"{near.entry.label} already says it.")
    if any(gate.name != "reach" for gate in open_gates):
        return Decision(Status.PENDING, risk, warned)
    return _decide_by_trust(project, draft, caller, risk, warned)


def _decide_for_person(
    project: Project,
    draft: Draft,
    open_gates: Iterable[GateResult],
    caller: Caller,
    risk: str,
) -> Decision:
    """Apply what a curator writes; a key may be in the hands of an agent.

    So a key's words wait that lead elsewhere, or that nearly are those of a live rule and
    perhaps say the opposite.
    """
    if not caller.may(Role.CURATOR, project.pk):
        return Decision(Status.PENDING, risk, "It waits for a curator.")
    near = draft.match.neighbour
    is_close = bool(near and near.similarity >= MERGE_COSINE)
    names = {"unsafe"} | (
        {"worth"} if is_close and not draft.match.names_others else set()
    )
    reason = _messages(gate for gate in open_gates if gate.name in names)
    if caller.key_id and reason:
        return Decision(Status.PENDING, risk, reason)
    return Decision(Status.APPLIED, risk)


def _decide_by_trust(
    project: Project, draft: Draft, caller: Caller, risk: str, warned: str
) -> Decision:
    delta, policy, trust = draft.delta, project.options.policy, TABLE[draft.basis]
    if delta.payload.get("doubt"):
        return Decision(Status.PENDING, risk, IN_DOUBT)
    if policy == "manual":
        reason = "The project's policy is manual: every change waits for a person."
        return Decision(Status.PENDING, risk, reason)
    is_believed = draft.is_believed or caller.attests_in(project.pk)
    is_own = trust.own == "at once" and (is_believed or draft.basis != Basis.CURE)
    is_addition = delta.operation == Operation.ADD and not delta.targets
    is_of_code = policy == "auto" and delta.producer == Producer.RULE and is_believed
    applies = trust.others == "at once" or (is_own and is_alone(project, caller))
    if not warned and (
        (is_addition and applies) or (is_of_code and (is_own or not is_addition))
    ):
        return Decision(Status.APPLIED, risk)
    reason = trust.why
    if not is_addition:
        reason = "Without a person, only votes and additions are applied."
    is_served = is_own and bool(delta.content) and not caller.acts_for_users
    return Decision(
        Status.PENDING,
        risk,
        warned or reason,
        served=(caller.person,) if is_served else (),
        needs_witness=is_addition and trust.others == "second person" and not warned,
    )


def is_alone(project: Project, caller: Caller) -> bool:
    """Whether the caller's person is the only one with a role or a key in the project."""
    accounts = Membership.objects.filter(project=project).values_list("account_id")
    persons = [Caller(name="", account_id=pk).person for (pk,) in accounts]
    keys = ApiKey.objects.usable().filter(Q(everywhere=True) | Q(projects=project))
    for key in keys.distinct():
        persons += ["users"] if key.acts_for_users else []
        by_key = Caller(
            name=key.name,
            user_id=key.user_id,
            key_account_id=key.account_id,
            line_id=key.line_id,
            root_line_id=key.root_line_id,
        )
        persons.append(by_key.person)
    return bool(persons) and set(persons) <= caller.own_names


def rate_risk(delta: PlaybookDelta, results: Sequence[GateResult]) -> str:
    open_gates = {gate.name: gate.verdict for gate in results if gate.verdict != "pass"}
    if open_gates.get("unsafe") == "fail":
        return "quarantine"
    if open_gates.keys() & {"unsafe", "limit"} or delta.operation in REMOVAL_OPERATIONS:
        return "high"
    return "medium" if open_gates or delta.operation == Operation.UPDATE else "low"


def _messages(results: Iterable[GateResult]) -> str:
    return " ".join(gate.message for gate in results if gate.message)
