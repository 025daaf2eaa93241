"""The prompt of a question for callers that run their own loop, with ids and reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.prompt.build import BuiltPrompt, PromptInput, build_prompt
from agents.prompt.parts import PromptPart
from agents.recall.recall import read_memory, record_exposure
from agents.recall.recalled_memory import RecalledItem, RecalledMemory
from agents.working_memory import WorkingMemory
from common.caller import Caller
from conversations.models import Session
from projects.models import Project


@dataclass(frozen=True)
class InvocationContext:
    """A prompt, and the memory that has room in it."""

    prompt: BuiltPrompt
    given: RecalledMemory

    def items_of(self, part: PromptPart) -> list[RecalledItem]:
        """Return the items of a part, in its order."""
        by_id = {item.id: item for item in self.given.items}
        return [by_id[pk] for pk in part.ids]


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
            working=WorkingMemory(),  # of a loop that somebody else runs
            tools=(),
            protocol="none",
            additional_context=options.additional_context,
            token_budget=token_budget or options.token_budget,
            templates=options.templates,
        )
    )
    kept = {pk for part in prompt.parts for pk in part.ids}
    items = tuple(item for item in recalled.items if item.id in kept)
    given = replace(recalled, items=items)
    record_exposure(project, caller, given, session)
    return InvocationContext(prompt, given)
