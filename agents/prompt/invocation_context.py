"""The prompt of a question for callers that run their own loop, with ids and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.prompt.build import BuiltPrompt, PromptInput, build_prompt
from agents.recall.recall import read_memory, record_exposure
from agents.recall.recalled_memory import RecalledItem, RecalledMemory
from agents.steps import AgentStep
from common.caller import Caller
from conversations.models import Session
from projects.models import Project


@dataclass
class NoSteps:
    """The working memory of a loop that somebody else runs: it is not known here."""

    steps: tuple[AgentStep, ...] = ()
    condensed: str = ""
    condensed_steps: int = 0


@dataclass(frozen=True)
class InvocationContext:
    """A prompt, and the memory that has room in it."""

    prompt: BuiltPrompt
    given: RecalledMemory

    def items_of(self, part: str) -> tuple[RecalledItem, ...]:
        """Return the items of a part, by the part's name."""
        given = self.given
        return {
            "facts": given.facts,
            "episodes": given.episodes,
            "conversation": given.invocations,
            "rules": given.entries,
        }.get(part, ())


def for_invocation(
    project: Project,
    caller: Caller,
    *,
    question: str,
    state: str = "",
    user: str = "",
    session: Session | None = None,
    token_budget: int | None = None,
) -> InvocationContext:
    """Return the prompt that the agent's own loop would begin with, without its protocol.

    Record the rules that have room as given, as the context of a task does.
    """
    options = project.options.agents
    recalled = read_memory(
        project,
        caller,
        question=question,
        state=state,
        user=user,
        session=session,
        token_budget=token_budget,
    )
    prompt = build_prompt(
        PromptInput(
            question=question,
            recalled=recalled,
            working=NoSteps(),
            tools=(),
            protocol="none",
            additional_context=options.additional_context,
            token_budget=token_budget or options.token_budget,
            templates=options.templates,
        )
    )
    given = _what_has_room(recalled, prompt)
    record_exposure(project, caller, given, session)
    return InvocationContext(prompt, given)


def _what_has_room(recalled: RecalledMemory, prompt: BuiltPrompt) -> RecalledMemory:
    kept = {pk for part in prompt.parts for pk in part.ids}

    def only(items: Sequence[RecalledItem]) -> tuple[RecalledItem, ...]:
        return tuple(item for item in items if item.id in kept)

    return RecalledMemory(
        facts=only(recalled.facts),
        episodes=only(recalled.episodes),
        invocations=only(recalled.invocations),
        entries=only(recalled.entries),
        digest=recalled.digest,
        notes=recalled.notes,
        errors=recalled.errors,
    )
