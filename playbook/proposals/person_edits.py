"""Proposals that people write: add, change and remove entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import errors
from common.caller import Caller
from common.text import secrets
from common.text.supply import describe_text
from memories.models import Memory
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import submission
from playbook.proposals.proposed_change import Operation, Producer, Proposal
from playbook.rule_text import applicability, text_gates
from projects import secret_policy
from projects.models import Project

# Columns of an entry that a person may set.
EDITABLE_COLUMNS = [
    "content",
    "category",
    "condition",
    "action",
    "tags",
    "applies_to",
    "priority",
    "pinned",
    "locked",
    "review_after",
]
PROPOSAL_COLUMNS = (
    *("content", "category", "condition", "action", "tags", "applies_to"),
)


class NeedsSecondPerson(errors.Forbidden):
    """The key's own words lead to another source of code, or nobody could check them."""

    code = "needs_second_person"


def addition(changes: Mapping[str, Any], caller: Caller, *, reason: str) -> Proposal:
    """Return a proposal to add an entry."""
    return person_proposal(Operation.ADD, changes, caller, reason=reason)


def change(
    entry: PlaybookEntry,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    reason: str,
    version: int | None,
) -> Proposal:
    """Return a proposal to change an entry.

    If `version` is given, the proposal applies only to this version of the entry.
    """
    if not changes:
        raise errors.Invalid("A change names at least one column to change.")
    return person_proposal(
        Operation.UPDATE,
        changes,
        caller,
        reason=reason,
        entry=entry,
        expected_version=version,
    )


def removal(
    entry: PlaybookEntry, caller: Caller, *, reason: str, version: int | None
) -> Proposal:
    return person_proposal(
        Operation.DELETE,
        {},
        caller,
        reason=reason,
        entry=entry,
        expected_version=version,
    )


def person_proposal(
    operation: str, changes: Mapping[str, Any], caller: Caller, **fields: Any
) -> Proposal:
    """Return a proposal by a person.

    `fields` set or override fields of Proposal.
    """
    proposal_columns = {
        name: changes[name] for name in PROPOSAL_COLUMNS if name in changes
    }
    if "tags" in proposal_columns:
        proposal_columns["tags"] = tuple(dict.fromkeys(proposal_columns["tags"]))
    if "applies_to" in proposal_columns:
        values = applicability.normalise(proposal_columns["applies_to"])
        proposal_columns["applies_to"] = values
    settings = {n: v for n, v in changes.items() if n not in PROPOSAL_COLUMNS}
    by = {"producer": Producer.HUMAN, "producer_name": caller.name}
    return Proposal(
        operation, settings=settings, **{**by, **proposal_columns, **fields}
    )


def quotable_texts(memory: Memory) -> dict[str, str]:
    """Return a dict of the texts of a memory from which quotes may be cut, by field."""
    names = ("content", "goal", "result", "feedback", "outcome", "lessons")
    return {name: getattr(memory, name) for name in names}


def submit_edit(project: Project, proposal: Proposal, caller: Caller) -> PlaybookDelta:
    """Submit a person's change.

    The change of a curator is applied. The change of a writer waits for a curator.
    """
    return submission.propose(project, [proposal], caller)[0]


def refuse_unknown_category(project: Project, changes: Mapping[str, Any]) -> None:
    category, known = changes.get("category"), project.options.categories
    if category is not None and category not in known:
        categories = ", ".join(known)
        raise errors.Invalid(
            f"The project has no category {category}; it has {categories}.",
            errors={"category": [f"Must be one of {categories}."]},
        )


def refuse_secrets(project: Project, changes: Mapping[str, Any]) -> None:
    if project.options.secrets == "allow":
        return
    texts = [str(changes[name]) for name in PROPOSAL_COLUMNS if name in changes]
    kinds = {kind for text in texts for kind in secrets.mask(text).kinds}
    if kinds:
        secret_policy.refuse(sorted(kinds))


def refuse_alone(changes: Mapping[str, Any], caller: Caller) -> None:
    """Raise NeedsSecondPerson if a key decides with words that wait when it writes them.

    A key may be in the hands of an agent, which a text that it read may have led. So the
    words of a decision wait as those of a new entry do (`playbook.proposals.policy`).
    """
    if not caller.key_id:
        return
    text = " ".join(
        str(changes[name])
        for name in ("content", "condition", "action")
        if changes.get(name)
    )
    results = (
        text_gates.check_supply(describe_text(text)),
        text_gates.check_language(text),
    )
    if found := " ".join(each.message for each in results if each.verdict != "pass"):
        raise NeedsSecondPerson(
            f"{found} Sign in to decide so, or propose the text as a change of its own, "
            "which another person decides about."
        )
