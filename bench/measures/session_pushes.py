"""Measure what hooks would have given recorded sessions, through the product's own function.

Each session of the replay reports its start, its prompts and its failed calls as hooks do, so
that each moment sees only what came before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.judge.failure_class import OF_THE_PROJECT
from bench.judge.failure_history import SessionFailure
from bench.judge.session_calls import RecordedSession
from bench.report.bar_chart import ChartBar, draw_bars
from common.caller import Caller
from inference import tokens
from mcp_server.hooks import event_answer
from projects.models import Project

HARNESS = "claude-code"
MAX_LISTED = 50  # pushed lines that are printed for reading
MAX_SHOWN = 200  # characters of a prompt that is printed
# A request is told again if an earlier session has a sentence with this share of its words.
SAME_WORDS, MIN_WORDS = 0.7, 3
_SENTENCE = re.compile(r"[.!?\n]+")
_WORD = re.compile(r"[a-z]{3,30}")
# Words that most requests have.
_COMMON = frozenset(
    [
        *(
            "the",
            "and",
            "for",
            "you",
            "can",
            "could",
            "should",
            "would",
            "please",
            "this",
        ),
        *(
            "that",
            "with",
            "now",
            "are",
            "was",
            "not",
            "but",
            "have",
            "has",
            "all",
            "any",
        ),
        *("our", "your", "its", "let", "just", "also", "then"),
    ]
)
Words = frozenset[str]


@dataclass
class PushCounts:
    """What the sessions were given, and what they could have been given."""

    sessions: int = 0
    starts: int = 0
    tokens: int = 0
    most_start_tokens: int = 0
    prompts: int = 0
    prompts_pushed: int = 0
    came_back: int = 0
    given_at_failure: int = 0
    said_of_others: int = 0
    told_again: int = 0
    told_known: int = 0
    pushed: list[dict[str, str]] = field(default_factory=list)


class SessionPushes:
    """The hooks of one session after the other."""

    def __init__(self, project: Project, caller: Caller) -> None:
        self.project = project
        self.caller = caller
        self.counts = PushCounts()
        self._known = ""
        self._requests: list[Words] = []
        self._new_requests: list[Words] = []

    def begin(self, session: RecordedSession) -> None:
        self._requests += self._new_requests
        self._new_requests = []
        self.counts.sessions += 1
        self._known = self._ask(session, "SessionStart", source="startup")
        self.counts.starts += bool(self._known)
        used = tokens.estimate(self._known)
        self.counts.most_start_tokens = max(self.counts.most_start_tokens, used)

    def prompt(self, session: RecordedSession, task: int) -> None:
        goal = session.tasks[task].goal
        if not goal.strip():
            return
        self.counts.prompts += 1
        given = self._ask(session, "UserPromptSubmit", prompt=goal)
        self._count_requests(goal, f"{self._known}\n{given}")
        if given:
            self._known += given
            self.counts.prompts_pushed += 1
            shown = " ".join(goal.split())[:MAX_SHOWN]
            self.counts.pushed.append({"prompt": shown, "given": given})

    def _count_requests(self, goal: str, known: str) -> None:
        """Count the requests that an earlier session had, and those of them that are known."""
        known_lines = [_words(line) for line in known.lower().splitlines()]
        for sentence in _SENTENCE.split(goal.lower()[:3_000]):
            words = _words(sentence)
            if len(words) < MIN_WORDS:
                continue
            if any(_has(earlier, words) for earlier in self._requests):
                self.counts.told_again += 1
                self.counts.told_known += any(_has(line, words) for line in known_lines)
            self._new_requests.append(words)

    def failure(self, session: RecordedSession, failure: SessionFailure) -> None:
        call = failure.call
        given = self._ask(
            session,
            "PostToolUseFailure",
            tool_name=call.tool,
            tool_input=dict(call.arguments),
            error=call.result,
            cwd=call.cwd,
        )
        if failure.kind not in OF_THE_PROJECT:
            self.counts.said_of_others += bool(given)
        elif failure.seen_in:
            self.counts.came_back += 1
            self.counts.given_at_failure += bool(given)

    def _ask(self, session: RecordedSession, event: str, **fields: Any) -> str:
        payload = {"hook_event_name": event, "session_id": session.name, **fields}
        answer = event_answer.answer(self.caller, self.project, HARNESS, payload)
        given = str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        self.counts.tokens += tokens.estimate(given)
        return given

    def result(self) -> dict[str, Any]:
        counts = self.counts
        return {
            "given_at_start": _share(counts.starts, counts.sessions),
            "given_at_prompt": _share(counts.prompts_pushed, counts.prompts),
            "given_at_failure": _share(counts.given_at_failure, counts.came_back),
            "prompts_pushed": counts.prompts_pushed,
            "told_twice": counts.told_again,
            "told_known_at_start": _share(counts.told_known, counts.told_again),
            "tokens_per_session": round(counts.tokens / (counts.sessions or 1)),
            "most_start_tokens": counts.most_start_tokens,
            "said_of_code_and_tests": counts.said_of_others,
            "failures_back": counts.came_back,
            "pushed": counts.pushed,
        }


def _words(sentence: str) -> Words:
    return frozenset(_WORD.findall(sentence)) - _COMMON


def _has(whole: Words, part: Words) -> bool:
    return len(whole & part) >= SAME_WORDS * len(part)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was given at each moment, and what was pushed, for reading."""
    yield (
        f"{result['given_at_start']:.0%} of the sessions started with something (at most "
        f"{result['most_start_tokens']} tokens), {result['given_at_prompt']:.1%} of the prompts "
        f"got something, and of {result['failures_back']} failures that came back "
        f"{result['given_at_failure']:.0%} got their fix; of {result['told_twice']} requests "
        f"that an earlier session had, {result['told_known_at_start']:.0%} were known. "
        f"{result['tokens_per_session']} tokens a session; "
        f"{result['said_of_code_and_tests']} failures of code, tests and the harness were "
        "answered (none may be)."
    )
    for each in result["pushed"][:MAX_LISTED]:
        yield f"\n{each['prompt']}"
        yield f"  {each['given']}"


def draw(result: Mapping[str, Any]) -> str:
    """Draw the share of what came back that the session already knew."""
    bars: Sequence[ChartBar] = [
        _bar(
            "requests told again", result["told_known_at_start"], result["told_twice"]
        ),
        _bar(
            "failures that came back",
            result["given_at_failure"],
            result["failures_back"],
        ),
    ]
    legend = "dark: known to the session, at its start or at the moment of failure"
    return draw_bars("What came back in recorded sessions", legend, bars)


def _bar(label: str, share: float, count: int) -> ChartBar:
    words = f"{share:.0%} of {count:,}"
    return ChartBar(label, share * 100, 100.0, words=words)
