"""The steps of a run that its prompts show: the last ones verbatim, the oldest condensed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.steps import AgentStep
from conversations.formats.message import ChatMessage
from conversations.summarizers import (
    ExtractiveSummarizer,
    SummarizeOptions,
    Summarizer,
    SummarizerFailure,
)
from conversations.summarizers.input_text import text_of_messages, text_of_summaries
from inference import tokens
from inference.language.fence import keep_ends
from projects.options import AgentSettings

# The most of the threshold that condensed steps take, and what they are shortened to when
# they take more. The rest is for the steps that stay verbatim.
CONDENSED_SHARE, SHORTENED_SHARE = 0.5, 0.25
# Characters of an observation's start that count as a statement. The summarizer reads only
# names and numbers of a tool's result, and the start says what the result is.
STATEMENT = 200


@dataclass
class WorkingMemory:
    """The memory of one run; a prompt shows `condensed` before `steps`.

    The default summarizer takes sentences from the text, whatever summarizer the project
    has: a model's answer would take seconds of each run.
    """

    summarizer: Summarizer = field(default_factory=ExtractiveSummarizer)
    condensed: str = ""
    steps: list[AgentStep] = field(default_factory=list)
    # How many steps are condensed.
    condensed_steps: int = 0
    _sizes: list[int] = field(default_factory=list)  # tokens of each step

    @property
    def tokens(self) -> int:
        return tokens.estimate(self.condensed) + sum(self._sizes)

    def append(self, step: AgentStep) -> None:
        self.steps.append(step)
        self._sizes.append(_tokens_of(step))

    def condense(self, options: AgentSettings) -> bool:
        """Condense the oldest steps if the memory is above the threshold.

        The last `keep_last_steps` stay. Return whether steps were condensed.
        """
        threshold = options.working_memory_threshold
        oldest = self.steps[: -options.keep_last_steps]
        if self.tokens <= threshold or not oldest:
            return False
        self.condensed = self._shorten(oldest, threshold)
        self.condensed_steps += len(oldest)
        del self.steps[: len(oldest)], self._sizes[: len(oldest)]
        return True

    def _shorten(self, steps: Sequence[AgentStep], threshold: int) -> str:
        """Return all that is condensed, with these steps, within its share."""
        target = int(threshold * SHORTENED_SHARE)
        text = _text_of_steps(steps, self.summarizer.max_result)
        limit = min(SummarizeOptions().target_of(text), target)
        new = self._summarize(
            text, SummarizeOptions(previous=self.condensed, target_tokens=limit)
        )
        every = text_of_summaries(each for each in (self.condensed, new) if each)
        if tokens.estimate(every) <= threshold * CONDENSED_SHARE:
            return every
        return self._summarize(
            every, SummarizeOptions(is_condensed=True, depth=1, target_tokens=target)
        )

    def _summarize(self, text: str, options: SummarizeOptions) -> str:
        try:
            return self.summarizer.summarize(text, options)
        except SummarizerFailure:
            return ExtractiveSummarizer().summarize(text, options)


def _tokens_of(step: AgentStep) -> int:
    arguments = json.dumps(step.arguments, ensure_ascii=False)
    return sum(
        map(tokens.estimate, (step.thought, step.action, arguments, step.observation))
    )


def _text_of_steps(steps: Sequence[AgentStep], max_result: int) -> str:
    messages = [each for step in steps for each in _messages_of(step, max_result)]
    return text_of_messages(messages, max_result)


def _messages_of(step: AgentStep, max_result: int) -> Iterator[ChatMessage]:
    """Yield a step as the messages that summarizers read."""
    if step.thought:
        yield ChatMessage("assistant", ({"type": "text", "text": step.thought},))
    call = {"type": "tool_call", "id": "", "name": step.action}
    yield ChatMessage("assistant", ({**call, "arguments": step.arguments},))
    start = " ".join(step.observation[:STATEMENT].split())
    if start and not step.is_error:
        said = f"{step.action} answered: {start}"
        yield ChatMessage("assistant", ({"type": "text", "text": said},))
    result = {"type": "tool_result", "id": "", "name": step.action}
    content = keep_ends(step.observation, max_result)
    yield ChatMessage(
        "tool", ({**result, "content": content, "is_error": step.is_error},)
    )
