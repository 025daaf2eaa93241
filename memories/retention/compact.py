"""Compaction: several memories of one scope become one (docs/compaction.md).

The text comes from the caller or from a summarizer; everything else is derived by code,
so that nothing of where the sources came from is lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from common import errors
from common.caller import Caller, Role
from common.ids import uuid7
from memories.lifecycle import derive
from memories.lifecycle.derive import Derivation
from memories.models import Memory, MemoryChange
from memories.retention import extractive_summary, model_summary
from memories.retention.extractive_summary import Summary
from memories.scopes import Scope
from memories.store import drafts, history
from memories.store.drafts import Draft
from projects.models import Project

Summarizer = Callable[[Sequence[Memory]], str | Summary]

# The key of the metadata that tells how a text came about: {level, model, generation}.
COMPACTION_KEY = "compaction"
# What a schedule puts together; a result of the last one is left as it is.
GENERATIONS = (1, 2, 3)
# The strictest of the sources holds for the result.
STRICTNESS = ("public", "private", "sensitive")
# What must survive of each source, where the sources differ in it (docs/api.md,
# "Scopes").
PROVENANCE = (
    "agent_id",
    "source",
    "confidence",
    "promoted_from",
    "compacted_from",
    "created_in_session_id",
    "provenance",
)


class MixedScopes(errors.StateConflict):
    """Only memories of one scope are compacted, and into that scope."""

    code = "mixed_scopes"


class ExpiriesDiffer(errors.StateConflict):
    """The sources expire at different times; say when the result does."""

    code = "expiries_differ"


class CompactionFailed(errors.Refusal):
    """The summarizer failed; nothing was changed."""

    status = 502
    code = "compaction_failed"


@dataclass(frozen=True)
class CompactionOptions:
    """What the result of a compaction is to be; None leaves it to the sources."""

    delete_sources: bool = False
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None
    kind: str | None = None
    # For the history.
    reason: str = ""


def prepare(
    project: Project,
    source_ids: Sequence[uuid.UUID],
    target: Scope,
    summarizer: Summarizer,
    caller: Caller,
    wish: CompactionOptions,
) -> Derivation:
    """One new memory of several; the sources stay unless they are to go.

    `summarizer` is given the sources in the given order; what it raises becomes
    CompactionFailed. Raises Invalid without ids, NotFound for a missing one,
    MixedScopes, and ExpiriesDiffer when retiring the sources would make something
    permanent expire.
    """
    caller.require(Role.WRITER, project.pk)
    sources = _sources(project, source_ids, caller)
    _refuse_mixed(sources, target)
    if wish.delete_sources and wish.expires_at is None:
        _refuse_differing_expiries(sources)
    draft = _draft(sources, _summary(sources, summarizer), target, caller, wish)
    retire = "compacted into" if wish.delete_sources else ""
    reason = "; ".join(filter(None, (wish.reason, *draft.notes)))
    return derive.prepare(project, sources, draft, retire=retire, reason=reason)


def fixed_summarizer(content: str) -> Summarizer:
    """The caller has written the summary."""
    return lambda sources: content


def project_summarizer(project: Project, run_id: uuid.UUID | None = None) -> Summarizer:
    """By the language model, where there is one; else by the sources' own sentences.

    All that is asked under one `run_id` shares the model's timeout.
    """
    run_id = run_id or uuid7()
    return lambda sources: model_summary.summarize(
        project, [text_to_keep(memory) for memory in sources], run_id
    )


def text_to_keep(memory: Memory) -> str:
    """What of a memory a summary has to keep."""
    more = (memory.outcome, memory.lessons)
    new = [text for text in more if text and text not in memory.content]
    return "\n".join([memory.content, *new])


def _sources(
    project: Project, source_ids: Sequence[uuid.UUID], caller: Caller
) -> list[Memory]:
    wanted = list(dict.fromkeys(source_ids))
    if not wanted:
        raise errors.Invalid(
            "A compaction needs at least one source.",
            errors={"source_ids": ["This list may not be empty."]},
        )
    rows = Memory.objects.visible_to(caller).readable().filter(project=project)
    found: dict[uuid.UUID, Memory] = rows.light().in_bulk(wanted)
    if missing := [str(pk) for pk in wanted if pk not in found]:
        raise errors.NotFound(f"There is no memory {', '.join(missing)}.")
    return [found[pk] for pk in wanted]


def _refuse_mixed(sources: Sequence[Memory], target: Scope) -> None:
    if {memory.scope_hash for memory in sources} != {target.hash}:
        raise MixedScopes


def _refuse_differing_expiries(sources: Sequence[Memory]) -> None:
    if len({memory.expires_at for memory in sources}) > 1:
        raise ExpiriesDiffer


def _summary(sources: Sequence[Memory], summarizer: Summarizer) -> Summary:
    ids = ", ".join(str(memory.pk) for memory in sources)
    try:
        made = summarizer(sources)
    # Whatever the caller's function raises, the sources stand as they were.
    except Exception as error:
        detail = f"Compaction failed for entries [{ids}]: {error}"
        raise CompactionFailed(detail) from error
    summary = Summary(made) if isinstance(made, str) else made
    if not summary.text.strip():
        raise CompactionFailed(
            f"Compaction failed for entries [{ids}]: the summary is empty"
        )
    return replace(
        summary, text=extractive_summary.cut(summary.text, drafts.MAX_CONTENT)
    )


def _draft(
    sources: Sequence[Memory],
    summary: Summary,
    target: Scope,
    caller: Caller,
    wish: CompactionOptions,
) -> Draft:
    first = sources[0]
    tags = _tags(sources) if wish.tags is None else wish.tags
    return Draft(
        content=summary.text,
        scope=target,
        kind=wish.kind or first.kind,
        memory_type=first.memory_type,
        agent_id=_shared(sources, "agent_id") or caller.agent_id_for(""),
        source=_shared(sources, "source") or Memory.Source.SYSTEM,
        confidence=_shared(sources, "confidence"),
        created_in_session_id=_shared(sources, "created_in_session_id") or "",
        provenance=_shared(sources, "provenance") or {},
        user_id=_shared(sources, "user_id") or "",
        title=_shared(sources, "title") or "",
        key=_shared(sources, "key") or "",
        value=_shared(sources, "value"),
        tags=tuple(dict.fromkeys(tags)),
        metadata=_metadata(sources, summary) | dict(wish.metadata),
        sensitivity=max((m.sensitivity for m in sources), key=STRICTNESS.index),
        expires_at=wish.expires_at or _earliest(sources),
        compacted_from=tuple(memory.pk for memory in sources),
        notes=_notes(summary),
        min_length=1,
    )


def _shared(sources: Sequence[Memory], name: str) -> Any:
    """The value that all sources have; None when they differ."""
    values = [getattr(memory, name) for memory in sources]
    return values[0] if all(value == values[0] for value in values) else None


def _tags(sources: Iterable[Memory]) -> list[str]:
    return [tag for memory in sources for tag in memory.tags]


def _notes(summary: Summary) -> tuple[str, ...]:
    made = (f"summary: {summary.level}",) if summary.level else ()
    return (*made, *summary.notes)


def _metadata(sources: Sequence[Memory], summary: Summary) -> dict[str, Any]:
    """The first value of each key, and the provenance in which the sources differ.

    How the text came about and how many compactions lie behind it is of the result.
    """
    merged: dict[str, Any] = {}
    for memory in sources:
        merged = memory.metadata | merged
    merged.pop(COMPACTION_KEY, None)
    if summary.level:
        merged[COMPACTION_KEY] = {
            "level": summary.level,
            "model": summary.model,
            "generation": 1 + max(generation_of(memory) for memory in sources),
        }
    differing = [n for n in PROVENANCE if _differs(sources, n)]
    if differing:
        merged["compacted_provenance"] = [
            _provenance(memory, differing) for memory in sources
        ]
    return merged


def generation_of(memory: Memory) -> int:
    """How many compactions lie behind a memory, as far as it tells."""
    made = memory.metadata.get(COMPACTION_KEY)
    told = made.get("generation") if isinstance(made, dict) else None
    return told if told in GENERATIONS else int(bool(memory.compacted_from))


def _differs(sources: Sequence[Memory], name: str) -> bool:
    """Lineage is of one memory: it is lost as soon as there is any."""
    if name in ("promoted_from", "compacted_from"):
        return any(getattr(memory, name) for memory in sources)
    return (
        len(sources) > 1
        and _shared(sources, name) is None
        and _is_set_in_any(sources, name)
    )


def _is_set_in_any(sources: Sequence[Memory], name: str) -> bool:
    return any(getattr(memory, name) not in (None, "", {}) for memory in sources)


def _provenance(memory: Memory, names: Sequence[str]) -> dict[str, Any]:
    state = history.snapshot(memory) | {"agent_id": memory.agent_id}
    kept = {name: state[name] for name in names}
    return {"id": str(memory.pk), **kept}


def _earliest(sources: Sequence[Memory]) -> datetime | None:
    return min((m.expires_at for m in sources if m.expires_at), default=None)


def list_compactions(project: Project, caller: Caller) -> QuerySet[MemoryChange]:
    """The compactions of a project, newest first, and whether the results are deleted."""
    caller.require(Role.VIEWER, project.pk)
    gone = Memory.objects.filter(pk=OuterRef("memory_id"), deleted_at__isnull=False)
    rows: QuerySet[MemoryChange] = MemoryChange.objects.visible_to(caller).filter(
        project_id=project.pk, action=MemoryChange.Action.COMPACT
    )
    return rows.annotate(is_deleted=Exists(gone))
