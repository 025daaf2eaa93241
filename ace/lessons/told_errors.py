"""Quote the errors of a task and their root causes: of its failed calls, and as people tell them.

Nothing is guessed: a root cause is a sentence of the feedback or of the result that names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ace import errors
from ace.task.task import Task, ToolCall
from ace.task.task_outcome import TaskOutcome
from common.text import phrases, sentences, word_hashes
from playbook.lessons.lesson import Quote

MAX_ERRORS = 20  # of one task
MAX_OF_CALL = 5  # different ones of one call
MAX_SENTENCE = 600  # characters
MAX_TEXT = 20_000  # characters of a feedback or result that are read
REPORTED = "reported"  # the type of an error of no known form

_TABLE = phrases.read(Path(__file__).parent / "words/reports.txt")
_ERROR, _CAUSE, _ADVICE = (
    phrases.compile_any(_TABLE[role]) for role in ("error", "cause", "advice")
)


@dataclass(frozen=True)
class TaskError:
    """An error of a task. `root_cause` is the sentence that names its cause, or blank."""

    error_type: str
    message: str
    root_cause: str
    evidence: tuple[Quote, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "evidence": [quote_json(one) for one in self.evidence]}


def quote_json(quote: Quote) -> dict[str, Any]:
    """Return a quote of a run as the API shows it."""
    names = ("field", "start", "end", "quote")
    return {name: getattr(quote, name) for name in names}


def find(task: Task, outcome: TaskOutcome) -> list[TaskError]:
    """Return the different errors of a task: those of calls, then those that words tell."""
    told = list(_told(task))
    causes = [quote for quote in told if _CAUSE.search(quote.quote)]
    found: dict[str, tuple[str, str, Quote]] = {}
    for call in task.calls:
        for error in errors_of(call) if call.has_failed else ():
            line = call.result[error.start : error.end]
            quote = Quote(line, call.result_field, error.start, error.end)
            found.setdefault(error.key, (error.type, error.message, quote))
    # What a result tells of a success was mended, unless it says why it failed.
    is_open = outcome.value != "success"
    for quote in told:
        kind = _type_of(quote.quote)
        if kind and (is_open or quote.field == "feedback" or quote in causes):
            found.setdefault(quote.quote, (kind, quote.quote, quote))
    return [
        _error(kind, message, quote, _cause_of(quote, causes, is_only=len(found) == 1))
        for kind, message, quote in list(found.values())[:MAX_ERRORS]
    ]


def errors_of(call: ToolCall) -> list[errors.FoundError]:
    """Return the errors of a failed call; without a known form, its first line."""
    found = errors.find(call.result)[:MAX_OF_CALL]
    first = errors.state(call.result) if not found else None
    return found or ([first] if first else [])


def find_advice(task: Task) -> list[Quote]:
    """Return the sentences of the feedback and the result that say what to do next time."""
    return [quote for quote in _told(task) if _ADVICE.search(quote.quote)]


def _told(task: Task) -> Iterator[Quote]:
    for field in ("feedback", "result"):
        text = task.text(field)[:MAX_TEXT]
        for start, end in sentences.split(text):
            if end - start <= MAX_SENTENCE:
                yield Quote(text[start:end], field, start, end)


def _type_of(sentence: str) -> str:
    """Return the type of the error that a sentence tells, or "" if it tells none."""
    found = errors.find(sentence)
    if _ERROR.search(sentence) or any(not each.is_complaint for each in found):
        return found[0].type if found else REPORTED
    return ""


def _cause_of(error: Quote, causes: Sequence[Quote], *, is_only: bool) -> Quote | None:
    """Return the sentence that names the cause of an error.

    It shares words with the error, or is the error's own sentence. Of a task with one error,
    any cause is its cause. A sentence that names nothing but a cause is the best.
    """
    words = set(word_hashes.split(error.quote))
    near = [q for q in causes if is_only or words & set(word_hashes.split(q.quote))]
    plain = [quote for quote in near if not _ERROR.search(quote.quote)]
    return next(iter([*plain, *(q for q in near if q == error), *near]), None)


def _error(kind: str, message: str, quote: Quote, cause: Quote | None) -> TaskError:
    quotes = (quote, cause) if cause and cause != quote else (quote,)
    return TaskError(kind, message, cause.quote if cause else "", quotes)
