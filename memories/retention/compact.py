"""Compact several memories of one scope into one memory (docs/compaction.md).

The text comes from the caller or from a summarizer. All other fields are computed from the
sources, so that the provenance of the sources is kept.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from common import errors
from common.caller import Caller, Role
from common.ids import uuid7
from memories.lifecycle import derive, lookup
from memories.lifecycle.derive import Derivation
from memories.models import Memory, MemoryChange
from memories.retention import extractive_summary, model_summary
from memories.retention.extractive_summary import MergedText
from memories.scopes import Scope
from memories.store import claimed_source, drafts, history
from memories.store.drafts import Draft
from projects.models import Project

Summarizer = Callable[[Sequence[Memory]], str | MergedText]
Choice = Callable[[Sequence[Memory]], Sequence[Memory]]
# What leaves out of memories the words that a summary is not to have.
_choices: list[Choice] = []

# How often a memory can be compacted by policy. The results of the last compaction stay.
MAX_GENERATION = 3
# The sensitivities from lax to strict. The result has the strictest sensitivity of its
# sources.
STRICTNESS = ("public", "private", "sensitive")
# If the sources differ in one of these fields, the result keeps the value of each source
# (docs/api.md, "Scopes").
PROVENANCE = (
    "agent_id",
    "source",
    "confidence",
    "promoted_from",
    "compacted_from",
    "created_in_session_id",
    "provenance",
)


class Expiry(Enum):
    """An expiry that is taken from the sources."""

    EARLIEST = "earliest"


class MixedScopes(errors.StateConflict):
    """Only memories of one scope can be compacted, and only into that scope."""

    code = "mixed_scopes"


class ExpiriesDiffer(errors.StateConflict):
    """The sources expire at different times; say when the result expires."""

    code = "expiries_differ"


class SummaryLoses(errors.StateConflict):
    """The summary leaves out names or numbers of the sources, which it would replace."""

    code = "summary_loses"


class CompactionFailed(errors.Refusal):
    """The summarizer failed; nothing was changed."""

    status = 502
    code = "compaction_failed"


@dataclass(frozen=True)
class CompactionOptions:
    """Options of a compaction.

    Without an option, its value is taken from the sources. `expires_at=None` says that the
    result never expires.
    """

    delete_sources: bool = False
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    expires_at: datetime | Expiry | None = Expiry.EARLIEST
    # Sources are not deleted for a summary that leaves out a name or a number of them.
    keep_literals: bool = False
    # This reason is written to the history of the result.
    reason: str = ""


def prepare(
    project: Project,
    source_ids: Sequence[uuid.UUID],
    target: Scope | None,
    summarizer: Summarizer,
    caller: Caller,
    options: CompactionOptions,
) -> Derivation:
    """Prepare one new memory that is made of several memories.

    `summarizer` gets the sources in the given order. Any error that the summarizer raises
    becomes CompactionFailed. Without `target`, the scope is that of the sources. Raises Invalid if there are no ids, NotFound if a memory is
    missing, and MixedScopes. Raises ExpiriesDiffer if sources that will be deleted expire
    at different times and `options` has no expiry, and SummaryLoses.
    """
    caller.require(Role.WRITER, project.pk)
    sources = _sources(project, source_ids, caller)
    target = target or sources[0].typed_scope
    _refuse_mixed(sources, target)
    if options.delete_sources and options.expires_at is Expiry.EARLIEST:
        _refuse_differing_expiries(sources)
    summary = _summary(sources, summarizer)
    if summary.lost and options.delete_sources and options.keep_literals:
        raise SummaryLoses(f"The summary leaves out {', '.join(summary.lost[:10])}.")
    draft = _draft(sources, summary, target, caller, options)
    if not summary.level:  # the text is the caller's own
        draft = claimed_source.check_source(draft, project.pk, caller)
    retire = "compacted into" if options.delete_sources else ""
    reason = "; ".join(filter(None, (options.reason, *draft.notes)))
    return derive.prepare(project, sources, draft, retire=retire, reason=reason)


def fixed_summarizer(content: str) -> Summarizer:
    """Return a summarizer that returns the caller's own text."""
    return lambda sources: content


def project_summarizer(project: Project, run_id: uuid.UUID | None = None) -> Summarizer:
    """Return the summarizer of a project.

    The summarizer uses the language model of the project. If the project has no model, it
    extracts sentences. All requests with one `run_id` share the timeout of the model.
    """
    run_id = run_id or uuid7()

    def summarize(sources: Sequence[Memory]) -> str | MergedText:
        for choose in _choices:
            sources = choose(sources)
        texts = [text_to_keep(memory) for memory in sources]
        return model_summary.summarize(project, texts, run_id)

    return summarize


def on_summary(choice: Choice) -> Choice:
    """Register what chooses the words of memories that a summary may have."""
    _choices.append(choice)
    return choice


def text_to_keep(memory: Memory) -> str:
    """Return the text that a summary must cover: content, outcome and lessons."""
    more = (memory.outcome, memory.lessons)
    new = [text for text in more if text and text not in memory.content]
    return "\n".join([memory.content, *new])


def _sources(
    project: Project, source_ids: Sequence[uuid.UUID], caller: Caller
) -> list[Memory]:
    ids = list(dict.fromkeys(source_ids))
    if not ids:
        raise errors.Invalid(
            "A compaction needs at least one source.",
            errors={"source_ids": ["This list may not be empty."]},
        )
    rows = Memory.objects.visible_to(caller).readable().filter(project=project)
    by_id: dict[uuid.UUID, Memory] = rows.light().in_bulk(ids)
    if missing := [str(pk) for pk in ids if pk not in by_id]:
        raise lookup.missing_error(missing, field="source_ids")
    return [by_id[pk] for pk in ids]


def _refuse_mixed(sources: Sequence[Memory], target: Scope) -> None:
    if {memory.scope_hash for memory in sources} != {target.hash}:
        raise MixedScopes


def _refuse_differing_expiries(sources: Sequence[Memory]) -> None:
    if len({memory.expires_at for memory in sources}) > 1:
        raise ExpiriesDiffer


def _summary(sources: Sequence[Memory], summarizer: Summarizer) -> MergedText:
    try:
        summary = summarizer(sources)
    # The caller's function may raise any exception. The sources are unchanged then.
    except Exception as error:
        raise _failure(sources, str(error)) from error
    summary = MergedText(summary) if isinstance(summary, str) else summary
    # A blank text is stored if it is the caller's own.
    if summary.level and not summary.text.strip():
        raise _failure(sources, "the summary is empty")
    return replace(
        summary, text=extractive_summary.cut(summary.text, drafts.MAX_CONTENT)
    )


def _failure(sources: Sequence[Memory], cause: str) -> CompactionFailed:
    ids = [str(memory.pk) for memory in sources]
    detail = f"Compaction failed for entries [{', '.join(ids)}]: {cause}"
    return CompactionFailed(detail, source_ids=ids)


def _draft(
    sources: Sequence[Memory],
    summary: MergedText,
    target: Scope,
    caller: Caller,
    options: CompactionOptions,
) -> Draft:
    first = sources[0]
    tags = _tags(sources) if options.tags is None else options.tags
    return Draft(
        content=summary.text,
        scope=target,
        kind=first.kind,
        memory_type=first.memory_type,
        agent_id=_shared_value(sources, "agent_id") or caller.agent_id_for(""),
        source=_source(sources),
        confidence=_shared_value(sources, "confidence"),
        created_in_session_id=_shared_value(sources, "created_in_session_id") or "",
        provenance=_shared_value(sources, "provenance") or {},
        user_id=_shared_value(sources, "user_id") or "",
        title=_shared_value(sources, "title") or "",
        key=_shared_value(sources, "key") or "",
        value=_shared_value(sources, "value"),
        tags=tuple(dict.fromkeys(tags)),
        metadata=_metadata(sources) | dict(options.metadata or {}),
        compaction=_record(sources, summary),
        sensitivity=max((m.sensitivity for m in sources), key=STRICTNESS.index),
        expires_at=_earliest(sources)
        if isinstance(options.expires_at, Expiry)
        else options.expires_at,
        compacted_from=tuple(memory.pk for memory in sources),
        notes=_notes(summary),
        min_length=0,
    )


def _shared_value(sources: Sequence[Memory], name: str) -> Any:
    """Return the value that all sources share, or None if the sources differ."""
    values = [getattr(memory, name) for memory in sources]
    return values[0] if all(value == values[0] for value in values) else None


def _source(sources: Sequence[Memory]) -> str:
    """Return the common source. What an agent has said does not become the system's word."""
    names = {memory.source for memory in sources}
    if len(names) == 1:
        return names.pop()
    is_reserved = names <= claimed_source.RESERVED
    return Memory.Source.SYSTEM if is_reserved else Memory.Source.AGENT


def _tags(sources: Iterable[Memory]) -> list[str]:
    return [tag for memory in sources for tag in memory.tags]


def _notes(summary: MergedText) -> tuple[str, ...]:
    level = (f"summary: {summary.level}",) if summary.level else ()
    return (*level, *summary.notes)


def _metadata(sources: Sequence[Memory]) -> dict[str, Any]:
    """Merge the metadata of the sources; of equal keys, the first value wins."""
    merged: dict[str, Any] = {}
    for memory in sources:
        merged = memory.metadata | merged
    return merged


def _record(sources: Sequence[Memory], summary: MergedText) -> dict[str, Any]:
    """Return the record of a compaction.

    It has the generation, how a summary was made, and the provenance in which the sources
    differ.
    """
    record: dict[str, Any] = {
        "generation": 1 + max(generation_of(memory) for memory in sources)
    }
    if summary.level:
        record |= {"level": summary.level, "model": summary.model}
    if summary.cause:
        record["cause"] = summary.cause[:500]
    if differing := [name for name in PROVENANCE if _differs(sources, name)]:
        record["provenance"] = [_provenance(memory, differing) for memory in sources]
    return record


def summary_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the {level, model, generation} of a record; None if the text was given.

    If the model failed, `cause` says why.
    """
    if "level" not in record:
        return None
    names = ("level", "model", "generation", "cause")
    return {name: record[name] for name in names if name in record}


def generation_of(memory: Memory) -> int:
    """Return the number of compactions that led to a memory."""
    unknown = int(bool(memory.compacted_from))
    number: int = memory.compaction.get("generation", unknown)
    return number


def _differs(sources: Sequence[Memory], name: str) -> bool:
    """Whether sources differ in a field.

    A lineage differs if any source has one, because the result has its own lineage.
    """
    if name in ("promoted_from", "compacted_from"):
        return any(getattr(memory, name) for memory in sources)
    return (
        len(sources) > 1
        and _shared_value(sources, name) is None
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
    """List the compactions of a project, newest first, annotated with `is_deleted`."""
    caller.require(Role.VIEWER, project.pk)
    deleted = Memory.objects.filter(pk=OuterRef("memory_id"), deleted_at__isnull=False)
    rows: QuerySet[MemoryChange] = MemoryChange.objects.visible_to(caller).filter(
        project_id=project.pk, action=MemoryChange.Action.COMPACT
    )
    return rows.annotate(is_deleted=Exists(deleted))
