"""Changes that people write: add, change and remove entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import errors
from common.caller import Caller
from common.text import secrets
from common.text.supply import describe_text
from memories.models import Memory
from playbook.lessons import draft as drafts
from playbook.lessons import intake
from playbook.lessons.draft import Operation, Producer
from playbook.lessons.lesson import SourceText, Speaker
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.rule_text import applicability
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
TEXT_COLUMNS = ("content", "category", "condition", "action", "tags", "applies_to")


class NeedsSecondPerson(errors.Forbidden):
    """The key's own words lead to another source of code, or nobody could check them."""

    code = "needs_second_person"


def addition(
    changes: Mapping[str, Any], caller: Caller, *, reason: str
) -> PlaybookDelta:
    return person_change(Operation.ADD, changes, caller, reason=reason)


def change(
    entry: PlaybookEntry,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    reason: str,
    version: int | None,
) -> PlaybookDelta:
    """Return a change of an entry.

    If `version` is given, it applies only to this version of the entry.
    """
    if not changes:
        raise errors.Invalid("A change names at least one column to change.")
    return person_change(
        Operation.UPDATE,
        changes,
        caller,
        reason=reason,
        entry=entry,
        expected_version=version,
    )


def removal(
    entry: PlaybookEntry, caller: Caller, *, reason: str, version: int | None
) -> PlaybookDelta:
    return person_change(
        Operation.DELETE,
        {},
        caller,
        reason=reason,
        entry=entry,
        expected_version=version,
    )


def person_change(
    operation: str, changes: Mapping[str, Any], caller: Caller, **columns: Any
) -> PlaybookDelta:
    """Return an unsaved change by a person. `columns` set further columns of the delta."""
    values = dict(changes)
    if "tags" in values:
        values["tags"] = list(dict.fromkeys(values["tags"]))
    if "applies_to" in values:
        values["applies_to"] = list(applicability.normalise(values["applies_to"]))
    by = {"producer": Producer.HUMAN, "producer_name": caller.name[:100]}
    return drafts.change(operation, values=values, **{**by, **columns})


def quotable_texts(memory: Memory) -> list[SourceText]:
    """Return the texts of a memory from which quotes may be cut; an agent wrote them."""
    names = ("content", "goal", "result", "feedback", "outcome", "lessons")
    return [
        SourceText("run", str(memory.pk), name, getattr(memory, name), Speaker.AGENT)
        for name in names
    ]


def submit_edit(
    project: Project, change: PlaybookDelta, caller: Caller
) -> PlaybookDelta:
    """Submit a person's change.

    The change of a curator is applied. The change of a writer waits for a curator.
    """
    return intake.submit(project, [change], caller)[0]


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
    texts = [str(changes[name]) for name in TEXT_COLUMNS if name in changes]
    kinds = {kind for text in texts for kind in secrets.mask(text).kinds}
    if kinds:
        secret_policy.refuse(sorted(kinds))


def refuse_alone(changes: Mapping[str, Any], caller: Caller) -> None:
    """Raise NeedsSecondPerson if a key decides with words that wait when it writes them.

    A key may be in the hands of an agent, which a text that it read may have led. So the
    words of a decision wait as those of a new entry do (`playbook.lessons.policy`).
    """
    if not caller.key_id:
        return
    text = " ".join(
        str(changes[name])
        for name in ("content", "condition", "action")
        if changes.get(name)
    )
    if found := describe_text(text):
        raise NeedsSecondPerson(
            f"{found} Sign in to decide so, or propose the text as a change of its own, "
            "which another person decides about."
        )
