"""Render the playbook for an agent: whole lines within a token budget."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from common.caller import Caller, Role
from inference import tokens
from playbook import models
from playbook.entries import freshness
from playbook.models import Exposure, PlaybookEntry
from playbook.queries import EntryQuerySet
from playbook.reading import (
    entry_list,
    exposures,
    own_lessons,
    past_revisions,
    relevance,
)
from playbook.reading.own_lessons import OwnLesson
from playbook.reading.relevance import Relevance, Relevances
from playbook.rule_text import entry_line
from playbook.rule_text.applicability import ALWAYS, Surroundings
from projects.models import Project


class HasLine(Protocol):
    """A line, and a size in bytes that it has at least."""

    @property
    def line(self) -> str: ...
    @property
    def least_size(self) -> int: ...


class Rankable(Protocol):
    """The fields by which entries are sorted."""

    @property
    def pk(self) -> uuid.UUID: ...
    @property
    def label(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def applies_to(self) -> list[str]: ...
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

    For a thousand entries, loading whole entries takes 33 ms of processor time, and
    loading these rows takes 9 ms.
    """

    pk: uuid.UUID
    label: str
    content: str
    action: str
    version: int
    pinned: bool
    applies_to: list[str]
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
    """An entry as an agent gets it.

    `relevance` is the cosine of the entry to the task. `relevance` is None if there is
    no task or if the entry has no vector yet. `is_relevant` is None if there is no
    task.
    """

    entry: EntryRow
    relevance: float | None
    is_relevant: bool | None
    reason: str
    is_contested: bool
    suspect_files: tuple[str, ...]

    @cached_property
    def line(self) -> str:
        """The line of the entry.

        If the entry is doubtful, a note follows the text.
        """
        mark = freshness.doubt_note(
            self.entry.content,
            is_contested=self.is_contested,
            files=self.suspect_files,
        )
        return entry_line.write_marked(self.entry.label, self.entry.content, mark)

    @property
    def least_size(self) -> int:
        return entry_line.least_size(self.entry.label, self.entry.content)

    @property
    def tokens(self) -> int:
        return tokens.estimate(f"{self.line}\n")

    @property
    def is_due(self) -> bool:
        return freshness.is_due(self.entry.review_after)


@dataclass(frozen=True)
class RenderedPlaybook:
    """The rendered playbook.

    `skipped` maps each reason to the live entries that are left out for this reason.
    """

    text: str
    rendered_entries: list[RenderedEntry]
    revision: int
    tokens: int
    budget: int
    skipped: Mapping[str, list[RenderedEntry]]
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> list[EntryRow]:
        return [rendered_entry.entry for rendered_entry in self.rendered_entries]

    @property
    def left_out(self) -> dict[str, int]:
        return {reason: len(over) for reason, over in self.skipped.items()}


@dataclass(frozen=True)
class TaskFit:
    """How well entries fit a task.

    Without a task, the fields are empty. `scores` are the scores of the hybrid search,
    for the best entries of the two lanes of the search.
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
    around: Surroundings | None = None,
) -> RenderedPlaybook:
    """Render for an agent, and record an exposure for each entry."""
    agent_id = exposures.resolve_agent(caller, agent_id)
    rendered = render(
        project,
        caller,
        task=task,
        budget=budget,
        relevant_only=relevant_only,
        around=around,
    )
    exposures.record(
        project,
        {
            rendered_entry.entry.pk: rendered_entry.relevance
            for rendered_entry in rendered.rendered_entries
        },
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
    around: Surroundings | None = None,
) -> RenderedPlaybook:
    """Render the active entries within a budget of tokens.

    Of the texts that wait for a decision, only those of the caller's person are included,
    last and marked (`own_lessons`). Pinned entries come first, then the
    rules that apply always, then those about a tool, path or language of the task. Then
    come the entries above the relevance gate, ordered by their lead; measurements showed
    that this order helps. The remaining entries follow in the order of the hybrid
    search.

    If two entries are equal, they are ordered by priority, confidence, freshness and
    finally the label, so that the same input gives the same bytes. A line that does not
    fit is skipped, but shorter lines after it may still fit. Lines are never cut.
    `relevant_only` leaves out entries below the gate, except pinned entries and rules
    that apply always. `around` are the tools and files of the task, or None for those that
    its words name.
    """
    caller.require(Role.VIEWER, project.pk)
    limit = budget or project.options.budgets.render_tokens
    rows: EntryQuerySet = PlaybookEntry.objects.visible_to(caller)
    live = rows.filter(project=project).current()
    fit = measure_fit(project, live, task, around)
    entries = [
        EntryRow(*columns) for columns in live.order_by().values_list(*EntryRow._fields)
    ]
    candidates: list[RenderedEntry] = []
    below: list[RenderedEntry] = []
    for rendered_entry in _render_entries(project, entries, fit, caller):
        is_in = (
            not relevant_only
            or rendered_entry.entry.pinned
            or ALWAYS in rendered_entry.entry.applies_to
            or rendered_entry.is_relevant
        )
        (candidates if is_in else below).append(rendered_entry)
    own = own_lessons.find(project, caller)
    fitting: list[RenderedEntry | OwnLesson] = fit_budget([*candidates, *own], limit)
    fitting_entries = [each for each in fitting if isinstance(each, RenderedEntry)]
    fitting_ids = {rendered_entry.entry.pk for rendered_entry in fitting_entries}
    text = write_lines(fitting)
    return RenderedPlaybook(
        text=text,
        rendered_entries=fitting_entries,
        revision=past_revisions.current_revision(project, caller),
        tokens=tokens.estimate(text),
        budget=limit,
        skipped={
            "budget": [
                rendered_entry
                for rendered_entry in candidates
                if rendered_entry.entry.pk not in fitting_ids
            ],
            "below_gate": below,
        },
        notes=fit.notes,
    )


def measure_fit(
    project: Project,
    live: EntryQuerySet,
    task: str,
    around: Surroundings | None = None,
) -> TaskFit:
    """Measure how well entries fit a task, by the relevance gate and the hybrid search."""
    if not task.strip():
        return TaskFit()
    relevances = relevance.measure(project, live, task, around)
    ranking = entry_list.rank(project, live, task)
    return TaskFit(
        task=task,
        relevances=relevances,
        scores={hit.id: hit.score for hit in ranking.hits},
        by_words=frozenset(hit.id for hit in ranking.hits if "keyword" in hit.lanes),
        notes=tuple(dict.fromkeys([*relevances.notes, *ranking.notes])),
    )


def _render_entries(
    project: Project, entries: Iterable[EntryRow], fit: TaskFit, caller: Caller
) -> list[RenderedEntry]:
    contested = entry_list.contested_ids(project)
    suspects = freshness.suspect_files(project, caller)
    return [
        RenderedEntry(
            entry=entry,
            relevance=task_relevance.similarity
            if (task_relevance := fit.of(entry))
            else None,
            is_relevant=bool(task_relevance and task_relevance.is_relevant)
            if fit.task
            else None,
            reason=_reason(entry, fit),
            is_contested=entry.pk in contested,
            suspect_files=suspects.get(entry.pk, ()),
        )
        for entry in sort_entries(entries, fit)
    ]


def _reason(entry: EntryRow, fit: TaskFit) -> str:
    if entry.pinned:
        return "pinned"
    if ALWAYS in entry.applies_to:
        return "applies always"
    if not fit.task:
        return "no task was named: by priority, confidence and age"
    task_relevance = fit.of(entry)
    if task_relevance and task_relevance.match:
        return task_relevance.match
    if task_relevance and task_relevance.is_relevant:
        return "speaks of the task"
    if entry.pk in fit.by_words:
        return "below the gate, shares words with the task"
    return "below the gate, there was room"


def sort_entries(entries: Iterable[R], fit: TaskFit) -> list[R]:
    """Sort by importance.

    Equally important entries are sorted by the label, which is unique.
    """

    def key(entry: R) -> tuple[object, ...]:
        confirmed = max(entry.updated_at, entry.verified_at or entry.updated_at)
        task_relevance = fit.of(entry)
        return (
            not entry.pinned,
            ALWAYS not in entry.applies_to,
            not (task_relevance and task_relevance.match),
            -task_relevance.lead
            if task_relevance and task_relevance.is_relevant
            else 1.0,
            -fit.scores.get(entry.pk, 0.0),
            # Entries that neither lane of the search returned have only their cosine.
            -(task_relevance.similarity if task_relevance else 0.0),
            -entry.priority,
            -entry.confidence,
            -confirmed.timestamp(),
            entry.label,
        )

    return sorted(entries, key=key)


def write_lines(lines: Iterable[HasLine]) -> str:
    return "".join(f"{each.line}\n" for each in lines)


def fit_budget(lines: Iterable[L], budget: int) -> list[L]:
    """Return the items whose lines fit into the budget together.

    The size of lines is counted in bytes.
    """
    room = budget * tokens.BYTES_PER_TOKEN
    fitting = []
    for each in lines:
        if each.least_size >= room:
            continue
        size = len(each.line.encode()) + 1
        if size <= room:
            fitting.append(each)
            room -= size
    return fitting
