"""TODO docstring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import errors
from common.caller import Caller
from common.text import secrets
from memories.models import Memory
from memories.store.secret_policy import SecretFound
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import submission
from playbook.proposals.proposed_change import Operation, Producer, Proposal
from projects.models import Project

# Columns of an entry that a person may set; an unknown one is refused at the door.
EDITABLE_COLUMNS = [
    "content",
    "category",
    "condition",
    "action",
    "tags",
    "priority",
    "pinned",
    "locked",
    "review_after",
]


PROPOSAL_COLUMNS = ("content", "category", "condition", "action", "tags")


def addition(changes: Mapping[str, Any], caller: Caller, *, reason: str) -> Proposal:
    """An entry that a person writes."""
    return person_proposal(Operation.ADD, changes, caller, reason=reason)


def change(
    entry: PlaybookEntry,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    reason: str,
    version: int | None,
) -> Proposal:
    """A person's change of an entry, of the given version if there is one."""
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
    """A proposal by a person unless `fields`, those of Proposal, say otherwise."""
    named = {name: changes[name] for name in PROPOSAL_COLUMNS if name in changes}
    if "tags" in named:
        named["tags"] = tuple(dict.fromkeys(named["tags"]))
    settings = {n: v for n, v in changes.items() if n not in PROPOSAL_COLUMNS}
    by = {"producer": Producer.HUMAN, "producer_name": caller.name}
    return Proposal(operation, settings=settings, **{**by, **named, **fields})


def quotable_texts(memory: Memory) -> dict[str, str]:
    """The texts of a memory that quotes may be cut from, by field."""
    names = ("content", "goal", "result", "feedback", "outcome", "lessons")
    return {name: getattr(memory, name) for name in names}


def submit_edit(project: Project, proposal: Proposal, caller: Caller) -> PlaybookDelta:
    """File a person's own change: a curator's is applied, a writer's waits."""
    return submission.propose(project, [proposal], caller)[0]


def refuse_unknown_category(project: Project, changes: Mapping[str, Any]) -> None:
    category, known = changes.get("category"), project.options.categories
    if category is not None and category not in known:
        listed = ", ".join(known)
        raise errors.Invalid(
            f"The project has no category {category}; it has {listed}.",
            errors={"category": [f"Must be one of {listed}."]},
        )


def refuse_secrets(project: Project, changes: Mapping[str, Any]) -> None:
    if project.options.secrets == "allow":
        return
    said = [str(changes[name]) for name in PROPOSAL_COLUMNS if name in changes]
    kinds = {kind for text in said for kind in secrets.mask(text).kinds}
    if kinds:
        found = ", ".join(sorted(kinds))
        raise SecretFound(f"The text holds a secret ({found}); take it out.")
