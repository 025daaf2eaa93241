"""Say whether the words of a lesson come only from a fetched page, a mail or the like.

Whoever can write such a text would otherwise write rules. A literal that the goal, a person,
a command or the repository has too is not foreign. That the agent repeats a foreign text in
its result, or in its own feedback, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import foreign_output
from common.text import literals
from common.text.visible import matching_form
from playbook.lessons.lesson import Quote

# A quote repeats a foreign text if the text has this share of its groups of three words.
REPEATED = 0.5
# In characters. A literal of fewer is in any text.
MIN_LITERAL = 3


@dataclass(frozen=True)
class TaskOrigins:
    """The foreign texts of a task with the calls that brought them, and all other texts."""

    foreign: tuple[tuple[ToolCall, str], ...]
    own: str

    def describe(self, task: Task, content: str, quotes: Sequence[Quote]) -> str:
        """Return a sentence about the foreign text that a lesson comes from, or nothing."""
        if not self.foreign:
            return ""
        names = [name for name in _literals(content) if name not in self.own]
        call = self._bringer(names) if names else None
        if call is None and not any(_literals(content)):
            call = self._bringer_of_quotes(task, quotes)
        if call is None:
            return ""
        return (
            "Its words come from a text from outside the repository, which call "
            f"{call.index} of {call.tool_name[:60]} brought; no person or command says so."
        )

    def _bringer(self, names: Iterable[str]) -> ToolCall | None:
        for name in names:
            for call, text in self.foreign:
                if name in text:
                    return call
        return None

    def _bringer_of_quotes(
        self, task: Task, quotes: Sequence[Quote]
    ) -> ToolCall | None:
        """Return the call behind the quotes, unless one of them is from elsewhere."""
        calls = [self._bringer_of_quote(task, quote) for quote in quotes]
        return calls[0] if calls and all(calls) else None

    def _bringer_of_quote(self, task: Task, quote: Quote) -> ToolCall | None:
        """Return the call that a quote is from, also if the agent only repeats it."""
        own_words = {"result"} | (
            {"feedback"} if task.feedback_source == "agent" else set()
        )
        words = _fold(quote.quote)
        for call, text in self.foreign:
            if quote.field == call.result_field:
                return call
            if quote.field in own_words and _repeats(words, text):
                return call
        return None


def find_origins(task: Task) -> TaskOrigins:
    """Sort the texts of a task by where they come from."""
    foreign = [
        call
        for call in task.calls
        if call.is_foreign or foreign_output.is_foreign(call.tool_name, call.arguments)
    ]
    if not foreign:
        return TaskOrigins((), "")
    first = foreign[0].index
    return TaskOrigins(
        foreign=tuple((call, _fold(call.result)) for call in foreign),
        own="\n".join(map(_fold, _own_texts(task, first, {c.index for c in foreign}))),
    )


def _own_texts(task: Task, first: int, foreign: set[int]) -> Iterator[str]:
    """Yield the texts of people, of commands and of the repository.

    What the agent writes into other arguments counts only before the first foreign text.
    """
    yield task.goal
    if task.feedback_source != "agent":
        yield task.feedback
    for call in task.calls:
        yield call.tool_name
        if call.command or call.index <= first:
            yield call.command or call.arguments_text
        if call.index not in foreign:
            yield call.result


def _literals(content: str) -> list[str]:
    found = (_fold(name) for name in literals.find_literals(content))
    return sorted(name for name in found if len(name) >= MIN_LITERAL)


def _repeats(quote: str, text: str) -> bool:
    """Whether a text has most groups of three words that a quote has."""
    words = quote.split()
    groups = {" ".join(words[i : i + 3]) for i in range(max(len(words) - 2, 1))}
    return sum(group in text for group in groups) >= REPEATED * len(groups)


def _fold(text: str) -> str:
    folded = text if text.isascii() else matching_form(text).text
    return " ".join(folded.lower().split())
