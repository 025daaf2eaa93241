"""A memory on its way in: checked, masked and classified, not yet written."""

from __future__ import annotations

import functools
import hashlib
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from common import errors
from common.caller import Caller
from common.text import plain_text, secrets
from memories import indexing
from memories.models import Memory
from memories.scopes import Scope
from projects.models import Project

# Characters: docs/limits.md
CONTENT, PART, TITLE, TAG = 50_000, 20_000, 500, 64
TEXTS = ("title", "content", "goal", "result", "feedback", "outcome", "lessons")
TREES = ("value", "tool_usage", "steps", "metadata", "provenance")


class SecretFound(errors.Refusal):
    """The text holds a secret and this project refuses them; take it out."""

    status = 422
    code = "secret_found"


@dataclass(frozen=True)
class FileRef:
    path: str
    relation: str = "referenced"
    line_start: int | None = None
    line_end: int | None = None
    content_hash: str = ""


@dataclass(frozen=True)
class Draft:
    """What a caller wants to store. Lengths are the serializers' work: docs/limits.md."""

    content: str
    memory_type: str = ""
    agent_id: str = ""
    user_id: str = ""
    kind: str = "note"
    title: str = ""
    key: str = ""
    value: Any = None
    goal: str = ""
    result: str = ""
    feedback: str = ""
    tool_usage: list[Any] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    outcome: str = ""
    lessons: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    scope: Scope | None = None
    sensitivity: str = "private"
    confidence: float | None = None
    source: str = "agent"
    created_in_session_id: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    # Of what was made from other memories; such a one is no duplicate of any.
    promoted_from: uuid.UUID | None = None
    compacted_from: tuple[uuid.UUID, ...] = ()
    notes: tuple[str, ...] = ()
    # The least length of the content; None: what the project asks of this kind.
    shortest: int | None = None
    # Where a quota is full: stored and archived at once, instead of refused.
    is_kept_over_quota: bool = False

    @functools.cached_property
    def similarity_hash(self) -> str:
        return plain_text.similarity_hash(self.content)

    @property
    def place(self) -> tuple[str, str]:
        """What writers of the same texts lock by, in the same order.

        What has a key is by its key: facts first, in the order of the batch, as the last
        of them is the current one.
        """
        if not self.key:
            return self.similarity_hash, ""
        assert self.scope
        of_key = hashlib.sha256(f"{self.scope.hash} {self.key}".encode()).hexdigest()
        return of_key, "" if self.kind == "fact" else self.similarity_hash

    @property
    def is_derived(self) -> bool:
        return bool(self.promoted_from or self.compacted_from)

    @property
    def embedded_text(self) -> str:
        return f"{self.title}\n{self.content}" if self.title else self.content


def prepare(project: Project, draft: Draft, caller: Caller) -> Draft:
    """Apply the project's rules to a draft, or refuse it with the field's name."""
    refuse_short(project, draft)
    draft = replace(
        draft,
        agent_id=caller.acting_as(draft.agent_id),
        user_id=caller.user_id or draft.user_id,
        scope=draft.scope or Scope("workspace", str(project.pk)),
        tags=tuple(dict.fromkeys(tag.strip() for tag in draft.tags if tag.strip())),
        files=one_per_relation(draft.files),
    )
    return guard_secrets(project.options.secrets, draft)


def refuse_short(project: Project, draft: Draft) -> None:
    """Notes have the project's minimum length; facts and episodes may be one word."""
    least = draft.shortest
    if least is None:
        least = project.options.content_min if draft.kind == "note" else 1
    if len(draft.content.strip()) < least:
        raise errors.Invalid(
            f"content needs at least {least} characters.",
            errors={"content": [f"Ensure it has at least {least} characters."]},
        )


def guard_secrets(mode: str, draft: Draft) -> Draft:
    """Mask, refuse or allow what looks like a secret, as the project says."""
    fields = (*TEXTS, *TREES)
    values, names = guard(mode, [getattr(draft, name) for name in fields])
    tags, more = guard(mode, list(draft.tags))
    found = ", ".join(dict.fromkeys(names + more))
    if not found:
        return draft
    notes = (*draft.notes, f"masked: {found}")
    guarded = dict(zip(fields, values, strict=True))
    masked = replace(draft, **guarded, tags=tuple(tags), notes=notes)
    _refuse_long(masked)
    return masked


def _refuse_long(draft: Draft) -> None:
    """A mask can be longer than what it hides."""
    for name, values, most in (
        ("title", [draft.title], TITLE),
        ("tags", draft.tags, TAG),
    ):
        if any(len(value) > most for value in values):
            told = f"With its secret masked, this is longer than {most} characters."
            raise errors.Invalid(errors={name: [told]})


def guard(mode: str, value: Any) -> tuple[Any, list[str]]:
    """A JSON value with its secrets masked, and their kinds; refused in mode reject."""
    kinds: list[str] = []
    if mode == "allow":
        return value, kinds

    def masked(text: str) -> str:
        found = secrets.mask(text)
        kinds.extend(found.kinds)
        return found.text

    changed = in_tree(value, masked)
    if kinds and mode == "reject":
        names = ", ".join(dict.fromkeys(kinds))
        raise SecretFound(f"The text holds a secret ({names}); take it out.")
    return changed, kinds


def in_tree(value: Any, change: Callable[[str], str]) -> Any:
    """Change every string of a JSON value, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [in_tree(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): in_tree(item, change) for key, item in value.items()}
    return value


def one_per_relation(files: Iterable[FileRef]) -> tuple[FileRef, ...]:
    """Each file once in each relation."""
    cleaned = (replace(ref, path=clean_path(ref.path)) for ref in files)
    return tuple(
        {(ref.path, ref.relation): ref for ref in cleaned if ref.path}.values()
    )


def clean_path(path: str) -> str:
    """A path as files are named: without `./` before it."""
    return path.strip().removeprefix("./")


COPIED = [
    "agent_id",
    "user_id",
    "memory_type",
    "kind",
    "title",
    "key",
    "value",
    "content",
    "goal",
    "result",
    "feedback",
    "tool_usage",
    "steps",
    "outcome",
    "lessons",
    "metadata",
    "sensitivity",
    "confidence",
    "source",
    "created_in_session_id",
    "provenance",
    "occurred_at",
    "expires_at",
    "promoted_from",
]


def build(project: Project, draft: Draft, language: str) -> Memory:
    """An unsaved memory with every column that follows from its text."""
    assert draft.scope
    memory = Memory(
        project=project,
        organization_id=project.organization_id,
        tags=list(draft.tags),
        compacted_from=list(draft.compacted_from),
        kept_apart=draft.is_derived,
        **draft.scope.columns,
        **{name: getattr(draft, name) for name in COPIED},
    )
    indexing.fill(memory, language)
    return memory
