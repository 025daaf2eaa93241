"""Run the ReAct loop: the model thinks and acts, a tool answers, until there is an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from agents.loop import run_errors, tool_call
from agents.loop.events import (
    ActionChosen,
    AgentEvent,
    ConfirmationNeeded,
    RunFinished,
    StepDone,
    TokensSpent,
)
from agents.loop.model_turn import ModelTurn, TurnStopped
from agents.loop.run_errors import RunError
from agents.loop.spoken_messages import ACTION, OBSERVATION, SpokenMessages
from agents.prompt.build import BuiltPrompt, PromptInput, build_prompt
from agents.protocols.decision import UnreadableAnswer
from agents.recall.recalled_memory import RecalledMemory
from agents.run_texts import mask_said
from agents.steps import AgentCall, AgentStep
from agents.tools.tool import Tool, ToolContext
from agents.working_memory import WorkingMemory
from inference.errors import InferenceError, ProviderTimeout
from inference.language.budget import DailyBudget
from projects.models import Project
from projects.options import AgentSettings

LastEvent = RunFinished | ConfirmationNeeded


@dataclass(frozen=True)
class LoopInput:
    """One run, or the rest of one that waited for a person.

    `history` are the steps so far, and count as iterations. `deadline` is a moment of
    `time.monotonic()`. After a person decided about a call, `allowed_call` or
    `forbidden_call` is that call. `should_stop` is asked before each step, and between the
    pieces that a model says.
    """

    project: Project
    question: str
    recalled: RecalledMemory
    tools: list[Tool]
    tool_context: ToolContext
    history: tuple[AgentStep, ...]
    options: AgentSettings
    max_iterations: int
    budget: DailyBudget
    has_streaming: bool
    should_stop: Callable[[], bool]
    deadline: float
    allowed_call: AgentCall | None = None
    forbidden_call: AgentCall | None = None


def run_loop(given: LoopInput) -> Iterator[AgentEvent]:
    """Yield the events of a run as they happen.

    The last event is RunFinished with an answer or an error, or ConfirmationNeeded. Failures
    of the model end the run with an error; those of tools are observations. Never call this
    inside a transaction. Closing the iterator stops the model.
    """
    yield from _ReactRun(given).events()


class _ReactRun:
    def __init__(self, given: LoopInput) -> None:
        self.given = given
        self.tools: dict[str, Tool] = {}
        for tool in given.tools:
            self.tools.setdefault(tool.name, tool)
        self.steps: list[AgentStep] = []
        self.working = WorkingMemory()
        for step in given.history:
            self.append(step)

    def append(self, step: AgentStep) -> None:
        self.steps.append(step)
        self.working.append(step)

    def events(self) -> Iterator[AgentEvent]:
        """Yield the call that a person decided about, then step after step."""
        if not self.given.should_stop():
            yield from self.continue_after_person()
        end: LastEvent | None = self.find_end()
        while end is None:
            end = (yield from self.take_step()) or self.find_end()
        yield end

    def continue_after_person(self) -> Iterator[AgentEvent]:
        messages = self.begin_messages()
        if call := self.given.allowed_call:
            yield self.act(call, messages)
        elif call := self.given.forbidden_call:
            yield self.note(tool_call.forbid_call(call), messages)

    def find_end(self) -> RunFinished | None:
        """Return the end of the run, if it may take no other step."""
        if self.given.should_stop():
            return self.finish(is_cancelled=True)
        if len(self.steps) >= self.given.max_iterations:
            return self.finish(error=run_errors.too_many_iterations())
        if self.is_late():
            return self.finish(error=run_errors.out_of_time())
        return None

    def is_late(self) -> bool:
        return time.monotonic() >= self.given.deadline

    def take_step(self) -> Generator[AgentEvent, None, LastEvent | None]:
        """Yield the events of one step; return the last event if the run ends with it.

        An answer that cannot be read is a step of its own.
        """
        messages, turn = self.begin_messages(), self.ask()
        try:
            yield from self.speak(turn, messages)
            decision = turn.decide()
        except TurnStopped:
            return self.finish(is_cancelled=True)
        except InferenceError as error:
            return self.fail(error)
        except UnreadableAnswer as error:
            step = tool_call.parse_error(str(error), turn.thought_text)
            yield self.note(step, messages)
            return None
        if decision.call is None:
            return self.finish(answer=decision.answer)
        return (yield from self.follow(decision.call, messages))

    def speak(self, turn: ModelTurn, messages: SpokenMessages) -> Iterator[AgentEvent]:
        """Yield what the model says, and what it costs however it ends."""
        try:
            for piece in turn.pieces():
                yield from messages.say(piece)
        except (InferenceError, TurnStopped):
            yield from messages.close()
            yield _tokens_of(turn)
            raise
        yield from messages.close()
        yield _tokens_of(turn)

    def follow(
        self, call: AgentCall, messages: SpokenMessages
    ) -> Generator[AgentEvent, None, LastEvent | None]:
        """Do what the model wants, or stop so that a person decides."""
        yield ActionChosen(call, messages.id_of(ACTION))
        if self.given.should_stop():
            return self.finish(is_cancelled=True)
        tool = self.tools.get(call.action)
        if tool is None or not tool.asks_first:
            yield self.act(call, messages)
        elif mask_said(self.given.project, call.arguments) != call.arguments:
            # The call would be stored without the secret, and act with the mask instead.
            yield self.note(tool_call.refuse_secret(call), messages)
        else:
            return ConfirmationNeeded(call, messages.id_of(ACTION))
        return None

    def act(self, call: AgentCall, messages: SpokenMessages) -> StepDone:
        step = tool_call.call_tool(call, self.tools, self.given.tool_context)
        return self.note(step, messages)

    def note(self, step: AgentStep, messages: SpokenMessages) -> StepDone:
        self.append(step)
        return StepDone(step, messages.id_of(OBSERVATION))

    def begin_messages(self) -> SpokenMessages:
        return SpokenMessages(
            self.given.tool_context.run_id,
            len(self.steps) + 1,
            has_streaming=self.given.has_streaming,
        )

    def ask(self) -> ModelTurn:
        self.working.condense(self.given.options)
        return ModelTurn(
            self.prompt(),
            options=self.given.options,
            tools=list(self.tools.values()),
            budget=self.given.budget,
            deadline=self.given.deadline,
            should_stop=self.given.should_stop,
        )

    def prompt(self) -> BuiltPrompt:
        options = self.given.options
        return build_prompt(
            PromptInput(
                question=self.given.question,
                recalled=self.given.recalled,
                working=self.working,
                tools=list(self.tools.values()),
                protocol=options.protocol,
                additional_context=options.additional_context,
                token_budget=options.token_budget,
                templates=options.templates,
            )
        )

    def fail(self, error: InferenceError) -> RunFinished:
        is_timeout = isinstance(error, ProviderTimeout) and self.is_late()
        return self.finish(
            error=run_errors.out_of_time()
            if is_timeout
            else run_errors.model_failure(error)
        )

    def finish(
        self,
        *,
        answer: str | None = None,
        error: RunError | None = None,
        is_cancelled: bool = False,
    ) -> RunFinished:
        return RunFinished(answer, error, is_cancelled, tuple(self.steps))


def _tokens_of(turn: ModelTurn) -> TokensSpent:
    return TokensSpent(turn.usage.prompt_tokens, turn.usage.answer_tokens)
