"""The playbook as an agent is given it: whole lines, under a token budget."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from common.caller import Caller, Role
from inference import tokens
from playbook import models
from playbook.entries import freshness
from playbook.models import Exposure, PlaybookEntry
from playbook.queries import EntryQuerySet
from playbook.reading import entry_list, exposures, past_revisions, relevance
from playbook.reading.relevance import Relevance, Relevances
from projects.models import Project


class HasLine(Protocol):
    @property
    def line(self) -> str: ...


class Rankable(Protocol):
    """What the order of entries follows from."""

    @property
    def pk(self) -> uuid.UUID: ...
    @property
    def label(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def priority(self) -> int: ...
    @property
    def confidence(self) -> float: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def verified_at(self) -> datetime | None: ...


L = TypeVar("L", bound=HasLine)
R = TypeVar("R", bound=Rankable)


class EntryRow(NamedTuple):
    """The columns of an entry that rendering reads.

    A thousand whole entries take 33 ms of the processor to load, these 9 ms.
    """

    pk: uuid.UUID
    label: str
    content: str
    action: str
    version: int
    pinned: bool
    priority: int
    helpful: int
    harmful: int
    updated_at: datetime
    verified_at: datetime | None
    review_after: datetime | None

    @property
    def confidence(self) -> float:
        return models.confidence(self.helpful, self.harmful)


@dataclass(frozen=True)
class RenderedEntry:
    """An entry as it is given; `relevance` and `is_relevant` are None without a task.

    `relevance` is its cosine to the task, None also while it is not embedded.
    """

    entry: EntryRow
    relevance: float | None
    is_relevant: bool | None
    reason: str
    is_contested: bool
    suspect_files: tuple[str, ...]

    @property
    def line(self) -> str:
        """The entry's line, marked when it is in doubt."""
        mark = freshness.doubt_note(
            is_contested=self.is_contested, files=self.suspect_files
        )
        return f"{models.format_line(self.entry.label, self.entry.content)}{mark}"

    @property
    def tokens(self) -> int:
        return tokens.estimate(f"{self.line}\n")

    @property
    def is_due(self) -> bool:
        return freshness.is_due(self.entry.review_after)


@dataclass(frozen=True)
class RenderedPlaybook:
    """`skipped` has the live entries that are not in, by reason."""

    text: str
    rendered_entries: list[RenderedEntry]
    revision: int
    tokens: int
    budget: int
    skipped: Mapping[str, list[RenderedEntry]]
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> list[EntryRow]:
        return [given.entry for given in self.rendered_entries]

    @property
    def left_out(self) -> dict[str, int]:
        return {reason: len(over) for reason, over in self.skipped.items()}


@dataclass(frozen=True)
class TaskFit:
    """What entries have to do with a task, as far as one was named.

    `scores` are those of the hybrid search, for the best entries of its two lanes.
    """

    task: str = ""
    relevances: Relevances = field(default_factory=Relevances)
    scores: Mapping[uuid.UUID, float] = field(default_factory=dict)
    by_words: frozenset[uuid.UUID] = frozenset()
    notes: tuple[str, ...] = ()

    def of(self, entry: Rankable) -> Relevance | None:
        return self.relevances.by_id.get(entry.pk)


def render_for_agent(
    project: Project,
    caller: Caller,
    *,
    task: str = "",
    budget: int | None = None,
    relevant_only: bool = False,
    agent_id: str = "",
) -> RenderedPlaybook:
    """Render for an agent, and keep what it was given until its task is finished."""
    agent_id = exposures.resolve_agent(caller, agent_id)
    rendered = render(
        project, caller, task=task, budget=budget, relevant_only=relevant_only
    )
    exposures.record(
        project,
        {given.entry.pk: given.relevance for given in rendered.rendered_entries},
        caller,
        source=Exposure.ExposureSource.RENDER,
        agent_id=agent_id,
    )
    return rendered


def render(
    project: Project,
    caller: Caller,
    *,
    task: str = "",
    budget: int | None = None,
    relevant_only: bool = False,
) -> RenderedPlaybook:
    """Fit the live playbook into a budget of tokens; pending text is not in it.

    Pinned entries come first, then those above the relevance gate by their lead, which
    is the order that was measured to help; then the rest as the hybrid search ranks
    them, where names and identifiers that they share with the task count. Ties go by
    priority, confidence, freshness, and at last the label, so that identical input
    gives identical bytes. A line that does not fit is passed over for shorter ones
    further down; lines are never cut. `relevant_only` leaves out what is below the
    gate, pinned entries excepted.
    """
    caller.require(Role.VIEWER, project.pk)
    limit = budget or project.options.budgets.render_tokens
    rows: EntryQuerySet = PlaybookEntry.objects.visible_to(caller)
    live = rows.filter(project=project).current()
    fit = measure_fit(project, live, task)
    loaded = [
        EntryRow(*columns) for columns in live.order_by().values_list(*EntryRow._fields)
    ]
    wanted: list[RenderedEntry] = []
    below: list[RenderedEntry] = []
    for given in _render_entries(project, loaded, fit, caller):
        is_in = not relevant_only or given.entry.pinned or given.is_relevant
        (wanted if is_in else below).append(given)
    taken = fit_budget(wanted, limit)
    fits = {given.entry.pk for given in taken}
    text = "".join(f"{given.line}\n" for given in taken)
    return RenderedPlaybook(
        text=text,
        rendered_entries=taken,
        revision=past_revisions.current_revision(project, caller),
        tokens=tokens.estimate(text),
        budget=limit,
        skipped={
            "budget": [given for given in wanted if given.entry.pk not in fits],
            "below_gate": below,
        },
        notes=fit.notes,
    )


def measure_fit(project: Project, live: EntryQuerySet, task: str) -> TaskFit:
    """How well the entries fit a task, by the gate and by the hybrid search."""
    if not task.strip():
        return TaskFit()
    relevances = relevance.measure(project, live, task)
    ranked = entry_list.rank(project, live, task)
    return TaskFit(
        task=task,
        relevances=relevances,
        scores={hit.id: hit.score for hit in ranked.hits},
        by_words=frozenset(hit.id for hit in ranked.hits if "keyword" in hit.lanes),
        notes=tuple(dict.fromkeys([*relevances.notes, *ranked.notes])),
    )


def _render_entries(
    project: Project, entries: Iterable[EntryRow], fit: TaskFit, caller: Caller
) -> list[RenderedEntry]:
    disputed = entry_list.conflicting_ids(project)
    suspects = freshness.suspect_files(project, caller)
    return [
        RenderedEntry(
            entry=entry,
            relevance=known.similarity if (known := fit.of(entry)) else None,
            is_relevant=bool(known and known.is_relevant) if fit.task else None,
            reason=_reason(entry, fit),
            is_contested=entry.pk in disputed
            or models.is_doubted(entry.helpful, entry.harmful),
            suspect_files=suspects.get(entry.pk, ()),
        )
        for entry in sort_entries(entries, fit)
    ]


def _reason(entry: EntryRow, fit: TaskFit) -> str:
    if entry.pinned:
        return "pinned"
    if not fit.task:
        return "no task was named: by priority, confidence and age"
    known = fit.of(entry)
    if known and known.is_relevant:
        return "speaks of the task"
    if entry.pk in fit.by_words:
        return "below the gate, shares words with the task"
    return "below the gate, there was room"


def sort_entries(entries: Iterable[R], fit: TaskFit) -> list[R]:
    """What matters most first; every tie is broken by the label, which is unique."""

    def key(entry: R) -> tuple[object, ...]:
        confirmed = max(entry.updated_at, entry.verified_at or entry.updated_at)
        known = fit.of(entry)
        return (
            not entry.pinned,
            -known.lead if known and known.is_relevant else 1.0,
            -fit.scores.get(entry.pk, 0.0),
            # Beyond the depth of both lanes the cosine is all that is known.
            -(known.similarity if known else 0.0),
            -entry.priority,
            -entry.confidence,
            -confirmed.timestamp(),
            entry.label,
        )

    return sorted(entries, key=key)


def fit_budget(lines: Iterable[L], budget: int) -> list[L]:
    """Those whose lines fit together; the estimate is of their joined bytes."""
    room = budget * tokens.BYTES_PER_TOKEN
    taken = []
    for each in lines:
        size = len(each.line.encode()) + 1
        if size <= room:
            taken.append(each)
            room -= size
    return taken
