"""Assemble a digest: gather and order candidates, then select lines within budgets."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from common.caller import Caller, Role
from context import followed_lessons, selection
from context.digest import digest_configs, digest_lines, digest_sources
from context.digest.digest_options import KINDS, DigestOptions
from context.digest.digest_sources import DigestCandidate
from context.selection import CandidateLine, Selection
from conversations.invocations.switch import users_without_memory
from inference import tokens
from jobs.models import Job
from memories.models import Memory
from memories.queries import OF_NO_AGENT, PAST_TASK, Filters, MemoryQuerySet
from memories.scopes import Scope
from projects.models import Project

OPENING = "Memory digest:"
# The fixed sentences of a digest without memories.
DISABLED = "The memory digest is disabled."
EMPTY = "There are no memories to show."
NOTHING = "No memory fits this turn."
NO_ITEMS = "The digest may have no items."
NO_CHARS = "The digest may have no characters."
NO_TOKENS = "The digest may have no tokens."
NO_KINDS = "The digest may have no memory of any kind."
# While jobs of these kinds wait, a digest may lack their results.
LEARNING, EMBEDDING = "ace", "embed"


@dataclass(frozen=True)
class IncludedMemory:
    """A memory in the digest. `rank` is its place among all candidates, from 1 on."""

    memory: Memory
    sources: list[str]
    scores: Mapping[str, float]
    rank: int
    text: str
    is_cut: bool

    @property
    def cost(self) -> dict[str, int]:
        return {"chars": len(self.text) + 1, "tokens": tokens.estimate(self.text)}


@dataclass(frozen=True)
class OmittedMemory:
    memory_id: uuid.UUID
    kind: str
    sources: list[str]
    rank: int
    reason: str


@dataclass(frozen=True)
class Digest:
    """A digest and its parts.

    `used` is {name: {items, chars, tokens}}. A name is "total" or a kind of memory.
    """

    text: str
    included: list[IncludedMemory] = field(default_factory=list)
    omitted: list[OmittedMemory] = field(default_factory=list)
    counts: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    behind: Mapping[str, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


MEMORY_OFF = "memory is off for a user of the scopes: nothing of the user was read"


def for_agent(
    project: Project,
    caller: Caller,
    *,
    agent_id: str = "",
    query: str = "",
    scopes: Sequence[Scope] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Digest:
    """Return the digest of an agent before a turn (docs/digest.md).

    The same rows and settings always give the same bytes. The digest reads the shared
    memories of the project and its organization, and the memories of the `scopes`. Scopes
    of users whose memory is off are left out.
    """
    caller.require(Role.VIEWER, project.pk)
    options = digest_configs.effective_options(project, agent_id, caller, overrides)
    behind = _pending_work(project)
    if not options.enabled:
        return Digest(_sentence(DISABLED, options), behind=behind)
    if spent := _zero_budget(options):
        return Digest(f"{OPENING}\n{spent}\n", behind=behind)
    kept = _scopes_with_memory(project, scopes)
    off_notes = (MEMORY_OFF,) if len(kept) < len(scopes) else ()
    rows = readable(project, caller, options, agent_id, kept)
    sources = digest_sources.gather(project, rows, options, query)
    if not sources.candidates:
        has_rows = rows.exists() if options.allow_sensitivities else False
        text = _sentence(NOTHING if has_rows else EMPTY, options)
        return Digest(
            text,
            counts=sources.counts,
            behind=behind,
            notes=(*off_notes, *sources.notes),
        )
    choice = _choose(sources.candidates, options, caller)
    return Digest(
        text=_text(choice.selection, options),
        included=choice.included,
        omitted=choice.omitted,
        counts=sources.counts,
        used={
            "total": choice.selection.total.used,
            **{kind: use.used for kind, use in choice.selection.kinds.items()},
        },
        behind=behind,
        notes=(*off_notes, *sources.notes),
    )


@dataclass(frozen=True)
class PromptDigest:
    """The candidates of the digest in a prompt, and the notes of sources that failed."""

    options: DigestOptions
    candidates: Sequence[DigestCandidate] = ()
    notes: tuple[str, ...] = ()


def gather_for_prompt(
    project: Project,
    caller: Caller,
    options: DigestOptions,
    *,
    agent_id: str = "",
    query: str = "",
    scopes: Sequence[Scope] = (),
) -> PromptDigest:
    """Gather what a prompt shows beside facts and past tasks, which it looks for itself.

    Nothing else is read: to say why a digest is empty can read all memories of a project.
    """
    caller.require(Role.VIEWER, project.pk)
    if not options.enabled or _zero_budget(options):
        return PromptDigest(options)
    kept = _scopes_with_memory(project, scopes)
    rows = readable(project, caller, options, agent_id, kept)
    found = digest_sources.gather(
        project, rows, options, query, searched=rows.exclude(PAST_TASK)
    )
    return PromptDigest(options, found.candidates, found.notes)


def choose_for_prompt(
    found: PromptDigest, caller: Caller, *, besides: Collection[uuid.UUID]
) -> Digest:
    """Return what the budgets have room for, without the memories `besides` and without text."""
    candidates = [one for one in found.candidates if one.id not in besides]
    choice = _choose(candidates, found.options, caller)
    return Digest("", choice.included, choice.omitted, notes=found.notes)


def _scopes_with_memory(project: Project, scopes: Sequence[Scope]) -> list[Scope]:
    """Return the scopes without those of users whose memory is off."""
    off = users_without_memory(project, (scope.owner for scope in scopes))
    return [scope for scope in scopes if scope.owner not in off]


@dataclass(frozen=True)
class DigestChoice:
    """The lines that the budgets have room for, and the memories of the other candidates."""

    selection: Selection[DigestCandidate]
    included: list[IncludedMemory]
    omitted: list[OmittedMemory]


def _choose(
    found: Sequence[DigestCandidate], options: DigestOptions, caller: Caller
) -> DigestChoice:
    kinds = _kinds(found)
    candidates = [one for one in found if one.id in kinds]
    memories = LazyMemories([one.id for one in candidates], caller)
    chosen = selection.select(
        (_line(one, kinds[one.id], memories) for one in candidates),
        total=options.budgets.total.budget,
        kinds={kind: options.budget_of(kind) for kind in KINDS},
        opening=OPENING,
    )
    ranks = {one.id: place for place, one in enumerate(candidates, start=1)}
    included = [
        IncludedMemory(
            memories[line.item.id],
            line.item.sources,
            line.item.scores,
            ranks[line.item.id],
            line.text,
            line.is_cut,
        )
        for line in chosen.lines
    ]
    omitted = [
        OmittedMemory(
            one.id, kinds[one.id], one.sources, ranks[one.id], skipped_line.reason
        )
        for skipped_line in chosen.skipped
        for one in [skipped_line.item]
    ]
    return DigestChoice(chosen, included, omitted)


def _zero_budget(options: DigestOptions) -> str:
    """Return the sentence of the first budget that allows nothing, or an empty text."""
    total = options.budgets.total
    kinds = [options.budget_of(kind) for kind in KINDS]
    zeros = {
        NO_ITEMS: total.max_items == 0,
        NO_CHARS: total.max_chars == 0,
        NO_TOKENS: total.max_tokens == 0,
        NO_KINDS: all(0 in (one.items, one.chars, one.tokens) for one in kinds),
    }
    return next((sentence for sentence, is_zero in zeros.items() if is_zero), "")


def readable(
    project: Project,
    caller: Caller,
    options: DigestOptions,
    agent_id: str,
    scopes: Sequence[Scope],
) -> MemoryQuerySet:
    """Return the current memories that a digest may use."""
    visible = Memory.objects.visible_to(caller)
    rows: MemoryQuerySet = visible.reachable(project, None)
    for scope in scopes:
        rows = rows | visible.reachable(project, scope)
    allowed = tuple(options.allow_sensitivities)
    if not allowed:
        return rows.none()
    rows = rows.filter_by(Filters(sensitivities=allowed))
    if options.agents == "own" and agent_id:
        own = Memory.objects.filter(agent_id=agent_id)
        # Not a condition on each row: there are few duplicates, and many rows.
        repeated = own.filter(duplicate_of__isnull=False).values("duplicate_of")
        rows = rows.filter(Q(agent_id=agent_id) | OF_NO_AGENT | Q(pk__in=repeated))
    return rows


def _kinds(candidates: Sequence[DigestCandidate]) -> dict[uuid.UUID, str]:
    rows = Memory.objects.filter(pk__in=[one.id for one in candidates])
    return dict(rows.values_list("pk", "kind"))


class LazyMemories:
    """Memories by id with the lessons to follow, read in batches in the order of the given ids.

    A batch is read when one of its memories is needed; most batches are never read.
    """

    AT_ONCE = 32

    def __init__(self, ids: Sequence[uuid.UUID], caller: Caller) -> None:
        self._ids = ids
        self._caller = caller
        self._places = {pk: place for place, pk in enumerate(ids)}
        self._found: dict[uuid.UUID, Memory] = {}

    def __getitem__(self, pk: uuid.UUID) -> Memory:
        if pk not in self._found:
            start = self._places[pk] // self.AT_ONCE * self.AT_ONCE
            rows = Memory.objects.only(*digest_lines.COLUMNS)
            found = rows.in_bulk(self._ids[start : start + self.AT_ONCE])
            memories = followed_lessons.choose(found.values(), self._caller)
            self._found |= {memory.pk: memory for memory in memories}
        return self._found[pk]


def _line(
    candidate: DigestCandidate, kind: str, memories: LazyMemories
) -> CandidateLine[DigestCandidate]:
    return CandidateLine(
        candidate,
        kind,
        len(digest_lines.head(kind, candidate.id)),
        lambda: digest_lines.render(memories[candidate.id]),
    )


def _text(chosen: Selection[DigestCandidate], options: DigestOptions) -> str:
    if not chosen.lines:
        return _sentence(NOTHING, options)
    return "".join(f"{line}\n" for line in [OPENING, *(t.text for t in chosen.lines)])


def _sentence(sentence: str, options: DigestOptions) -> str:
    """Return the opening line and the fixed sentence.

    Return a blank text if they exceed the total budget.
    """
    text = f"{OPENING}\n{sentence}\n"
    limits = options.budgets.total
    if len(text) > limits.max_chars:
        return ""
    most = limits.max_tokens
    return "" if most is not None and tokens.estimate(text) > most else text


def _pending_work(project: Project) -> dict[str, bool]:
    """Return {"learning": bool, "embedding": bool} of the project.

    The values say whether finished tasks and new texts still wait for a worker.
    """
    waiting = Job.objects.filter(
        project_id=project.pk,
        kind__in=[LEARNING, EMBEDDING],
        state__in=[Job.State.WAITING, Job.State.RUNNING],
    )
    kinds = set(waiting.order_by().values_list("kind", flat=True).distinct())
    return {"learning": LEARNING in kinds, "embedding": EMBEDDING in kinds}
