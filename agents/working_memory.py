"""The steps of a run that its prompts show: the last ones verbatim, the oldest condensed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.steps import AgentStep
from common.text import plain_text
from conversations.formats.message import ChatMessage
from conversations.summarizers import ExtractiveSummarizer, SummarizeOptions
from conversations.summarizers.extractive import EXPAND
from conversations.summarizers.input_text import text_of_messages, text_of_summaries
from inference import tokens
from inference.language.fence import keep_ends
from projects.options import AgentSettings

# The shares of the threshold that the results of condensed steps take, that their summary
# takes at most, and that it is shortened to. The rest is for the steps that stay verbatim.
RESULTS_SHARE, SUMMARY_SHARE, SHORTENED_SHARE = 0.2, 0.3, 0.25
LEAST_RESULT, MOST_RESULT = 60, 300  # bytes of a line with the result of a step
MAX_ARGUMENTS = 60  # characters of the arguments in it
GAP = "…"
# Characters of an observation's start that count as a statement. The summarizer reads only
# names and numbers of a tool's result, and the start says what the result is.
STATEMENT = 200


@dataclass
class WorkingMemory:
    """The memory of one run; a prompt shows `condensed` before `steps`.

    Condensed are the results of steps, the newest that have room, and a summary that takes
    sentences from the text: a model's answer would take seconds of each run.
    """

    steps: list[AgentStep] = field(default_factory=list)
    # How many steps are condensed.
    condensed_steps: int = 0
    _results: list[str] = field(default_factory=list)
    _summary: str = ""
    _sizes: list[int] = field(default_factory=list)  # tokens of each step

    @property
    def condensed(self) -> str:
        # What the summarizer offers to expand is gone.
        kept = [
            line for line in self._summary.splitlines() if not line.startswith(EXPAND)
        ]
        return "\n".join([*self._results, *kept])

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
        lines = dict.fromkeys([*self._results, *map(_result_line, oldest)])
        self._results = _fit_lines([*lines], int(threshold * RESULTS_SHARE))
        self._summary = self._summarize(oldest, threshold)
        self.condensed_steps += len(oldest)
        del self.steps[: len(oldest)], self._sizes[: len(oldest)]
        return True

    def _summarize(self, steps: Sequence[AgentStep], threshold: int) -> str:
        """Return the summary of all that is condensed, with these steps, within its share."""
        summarizer = ExtractiveSummarizer()
        target = int(threshold * SHORTENED_SHARE)
        text = _text_of_steps(steps, summarizer.max_result)
        limit = min(SummarizeOptions().target_of(text), target)
        new = summarizer.summarize(
            text, SummarizeOptions(previous=self._summary, target_tokens=limit)
        )
        every = text_of_summaries(each for each in (self._summary, new) if each)
        if tokens.estimate(every) <= threshold * SUMMARY_SHARE:
            return every
        return summarizer.summarize(
            every, SummarizeOptions(is_condensed=True, depth=1, target_tokens=target)
        )


def _result_line(step: AgentStep) -> str:
    arguments = json.dumps(step.arguments, ensure_ascii=False) if step.arguments else ""
    did = f"{step.action} {plain_text.clip(arguments, MAX_ARGUMENTS)}".strip()
    failed = "failed: " if step.is_error else ""
    return _cut(f"{did}: {failed}{' '.join(step.observation.split())}", MOST_RESULT)


def _fit_lines(lines: Sequence[str], room: int) -> list[str]:
    """Return the newest lines that `room` tokens have, each cut to an equal share."""
    size = room * tokens.BYTES_PER_TOKEN
    kept = lines[-max(size // LEAST_RESULT, 1) :]
    return [_cut(line, size // len(kept) - 1) for line in kept]


def _cut(line: str, most: int) -> str:
    """Return a line within `most` bytes: its start, which tells most, and its end."""
    data = line.encode(errors="ignore")
    if len(data) <= most:
        return line
    end = most // 3
    start = data[: most - end - len(GAP.encode())].decode(errors="ignore")
    return f"{start}{GAP}{data[-end:].decode(errors='ignore')}"


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
