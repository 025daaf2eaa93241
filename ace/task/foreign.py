"""Recognise somebody else's words: pages, mail, chats, tickets; and the lessons they led to.

Whoever can write such a text would otherwise write rules. A literal that the goal, a person,
a command or the repository has too is not foreign. That the agent repeats a foreign text in
its result, or in its own feedback, changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ace.task import shell, tool_calls, word_tables
from ace.task.task import Task, ToolCall
from common.text import literals
from common.text.visible import matching_form
from playbook.lessons.lesson import Quote

_TOOLS = word_tables.read("foreign_tools")
_PROGRAMS = word_tables.read("foreign_programs")
_ADDRESS_ARGUMENTS = word_tables.read("address_arguments")
# `gh` and its like also work on the repository itself.
_OWN_SUBCOMMANDS = frozenset({"auth", "config", "repo", "run", "workflow", "cache"})
_HOSTED = frozenset({"gh", "glab", "hub"})
_ADDRESS = re.compile(
    r"https?://(?:[^\s/@\"']{1,200}@)?([^\s/:\"'<>)]{1,255})", re.IGNORECASE
)
_LOOPBACK = re.compile(
    r"localhost|[\w.-]{1,80}\.localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[?::1\]?",
    re.IGNORECASE,
)
# Calls in code that fetch an address.
_FETCH_IN_CODE = re.compile(
    r"\b(?:requests|httpx|aiohttp|urllib\d?|urlopen|fetch|axios|got|net/http|http\.get"
    r"|HttpClient|WebClient|Net::HTTP|feedparser|imaplib|smtplib|read_html)\b"
)


def is_foreign(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the result of the call comes from outside of the repository."""
    command = (
        tool_calls.command_of(arguments) if tool_calls.is_shell(name, arguments) else ""
    )
    if command:
        return _fetches(command)
    words = set(tool_calls.split_name(name))
    if words & _TOOLS:
        return not _is_of_this_machine(arguments)
    return _reads_address(arguments)


def _fetches(command: str) -> bool:
    """Whether a shell command or a piece of code fetches a text of another machine."""
    hosts = _ADDRESS.findall(command)
    if hosts and all(_LOOPBACK.fullmatch(host) for host in hosts):
        return False
    if hosts and _FETCH_IN_CODE.search(command):
        return True
    return any(
        simple.program.lower() in _PROGRAMS and not _is_own(simple)
        for simple in shell.parse(command)
    )


def _is_own(simple: shell.SimpleCommand) -> bool:
    if simple.program in _HOSTED:
        return bool(simple.operands) and simple.operands[0] in _OWN_SUBCOMMANDS
    return any(_LOOPBACK.match(word) for word in simple.operands)


def _reads_address(arguments: Mapping[str, Any]) -> bool:
    """Whether an argument that is named for it has an address of another machine."""
    for path, value in tool_calls.leaves(arguments).items():
        names = set(tool_calls.split_name(path))
        if names & _ADDRESS_ARGUMENTS and isinstance(value, str):
            found = _ADDRESS.match(value.strip())
            if found and not _LOOPBACK.fullmatch(found[1]):
                return True
    return False


def _is_of_this_machine(arguments: Mapping[str, Any]) -> bool:
    """Whether every address in the arguments is of this machine, as in a test of a page."""
    values = tool_calls.leaves(arguments).values()
    hosts = [host for v in values if isinstance(v, str) for host in _ADDRESS.findall(v)]
    return bool(hosts) and all(_LOOPBACK.fullmatch(host) for host in hosts)


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
        if call.is_foreign or is_foreign(call.tool_name, call.arguments)
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
