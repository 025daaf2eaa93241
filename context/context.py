"""Give what is known, part by part, in one text: `POST /context`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ace.repairs import lookup
from ace.repairs.lookup import KnownFix
from ace.task.task import ToolCall
from common.caller import Caller
from context import task_context
from context.card.card_line import CardLine
from context.decisions import lines
from context.decisions.decide import Answer, Decisions
from context.digest import assemble
from context.digest.assemble import Digest
from context.files.recommended_file import FileList
from context.task_context import AtHand, Item, TaskContext
from context.task_rules import RelevantRule
from inference import tokens
from memories.models import Memory
from memories.read import search
from memories.scopes import Scope
from playbook.reading.own_lessons import OwnLesson
from projects.models import Project

Part = Literal["digest", "fix", task_context.Part]
PARTS: tuple[str, ...] = ("digest", "fix", *get_args(task_context.Part))


@dataclass(frozen=True)
class ContextRequest:
    """What is asked: `query` is the task or the prompt, `failed_call` a call to mend.

    `parts` are members of PARTS. `scopes` are read for the digest, and those of `at_hand`
    for the other parts.
    """

    query: str = ""
    parts: Collection[str] = task_context.TASK_PARTS
    limit: int | None = None
    token_budget: int | None = None
    agent_id: str = ""
    session: str = ""
    branch: str = ""
    cutoff: search.Cutoff = "auto"
    at_hand: AtHand = field(default_factory=AtHand)
    scopes: Sequence[Scope] = ()
    overrides: Mapping[str, Any] | None = None
    failed_call: ToolCall | None = None


@dataclass(frozen=True)
class ContextItem:
    """A line that is given, or one that is not: its part, what it is, and why."""

    part: str
    id: str
    why: str
    text: str = ""

    @property
    def tokens(self) -> int:
        return tokens.estimate(self.text)


@dataclass(frozen=True)
class Context:
    """The parts in one text: the digest, the known fix, and what is known of the task."""

    digest: Digest | None = None
    fix: KnownFix | None = None
    task: TaskContext | None = None

    @property
    def text(self) -> str:
        digest = self.digest.text if self.digest else ""
        fix = f"{self.fix.text}\n" if self.fix else ""
        return f"{digest}{fix}{self.task.text if self.task else ''}"

    @property
    def tokens(self) -> int:
        return tokens.estimate(self.text)

    @property
    def items(self) -> list[ContextItem]:
        return list(self._items())

    def _items(self) -> Iterator[ContextItem]:
        for one in self.digest.included if self.digest else ():
            why = ", ".join(one.sources)
            yield ContextItem("digest", str(one.memory.pk), why, one.text)
        if self.fix:
            why = self.fix.cure.signature.name
            yield ContextItem(
                "fix", str(self.fix.cure.newest.run_id), why, self.fix.text
            )
        for line in self.task.selected if self.task else ():
            yield from _describe(line.item, line.text)

    @property
    def left_out(self) -> list[ContextItem]:
        digest = self.digest.omitted if self.digest else ()
        of_digest = [
            ContextItem("digest", str(one.memory_id), one.reason) for one in digest
        ]
        skipped = self.task.skipped if self.task else ()
        of_task = [
            ContextItem(item.part, item.id, one.reason)
            for one in skipped
            for item in _describe(one.item)
        ]
        refused = self.task.decisions.refused if self.task else ()
        return [*of_digest, *of_task, *map(_describe_answer, refused)]

    @property
    def notes(self) -> list[str]:
        digest = self.digest.notes if self.digest else ()
        return list(dict.fromkeys([*digest, *(self.task.notes if self.task else ())]))

    @property
    def memories(self) -> list[Memory]:
        """The memories of the task, which were recalled by it."""
        return [item.hit.memory for item in self.task.memories] if self.task else []


def find(project: Project, request: ContextRequest, caller: Caller) -> Context:
    """Return the parts that the request names; rules and memories that are given are recorded."""
    digest = fix = task = None
    if "digest" in request.parts:
        digest = assemble.for_agent(
            project,
            caller,
            agent_id=request.agent_id or caller.agent_id,
            query=request.query,
            scopes=request.scopes,
            overrides=request.overrides,
        )
    if "fix" in request.parts and request.failed_call:
        fix = lookup.find(
            project,
            request.failed_call,
            caller,
            scope=next(iter(request.at_hand.scopes), None),
            agent_id=request.agent_id,
        )
    of_task = [part for part in get_args(task_context.Part) if part in request.parts]
    if of_task:
        task = task_context.for_task(
            project,
            request.query,
            caller,
            top_k=request.limit,
            token_budget=request.token_budget,
            agent_id=request.agent_id,
            cutoff=request.cutoff,
            at_hand=request.at_hand,
            session=request.session,
            branch=request.branch,
            parts=of_task,
        )
    return Context(digest, fix, task)


def _describe_answer(answer: Answer, text: str = "") -> ContextItem:
    """Return a conversation or commit with the figures of the gate: docs/howto/hooks.md."""
    passage = answer.passage
    why = f"evidence {passage.evidence:.2f}, {passage.rare:.1f} rare words"
    return ContextItem("decisions", str(answer.id), why, text)


def _describe(item: Item, text: str = "") -> Iterator[ContextItem]:
    """Yield what an item of a task is; the decisions are one item of several."""
    match item:
        case CardLine():
            why = f"{item.section}, {item.sessions} sessions"
            yield ContextItem("card", item.subject, why, text)
        case Decisions():
            for each in item.given:
                yield _describe_answer(each.answer, text and lines.write(each))
        case RelevantRule():
            yield ContextItem("rules", str(item.entry.pk), item.reason, text)
        case OwnLesson():
            yield ContextItem("rules", str(item.delta_id), "told by your person", text)
        case FileList():
            names = ", ".join(each.file_path for each in item.files)
            yield ContextItem("files", names, "files of earlier tasks", text)
        case _:
            yield ContextItem("memories", str(item.hit.memory.pk), item.reason, text)
