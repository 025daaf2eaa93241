"""Teach what a person says in their own words: what lasts, and feedback on a task."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from ace.task import tool_calls
from ace.task.task import Task
from common.text import languages, literals, phrases, sentences
from common.text.lasting import WORD, says_it_lasts
from playbook.lessons.lesson import Kind, Lesson, Quote

LASTS, SAID = 0.8, 0.4  # the confidence
MAX_LASTING = 6  # of one text
MAX_SENTENCE = 600  # characters
MAX_FEEDBACK = 4_000  # characters of a lesson
# In characters. A longer text is a document; its first paragraph introduces it.
MAX_TALK = 3_000

# What is pasted, in spaces of the same length: code, quotations, lines of a difference.
_PASTED = re.compile(
    r"```(?:[^`]|`(?!``)){0,3000}```|`[^`\n]{0,600}`|\"[^\"\n]{0,600}\"|\u201c[^\u201d\n]{0,600}\u201d"
    r"|^[ \t]{0,8}(?:>|\||[+-] {2,}|[+-]\t|@@)[^\n]{0,2000}",
    re.MULTILINE,
)
# A refused call with the words of a person, as coding agents record it.
_USER_SAID = re.compile(r"\bthe user said:\s{0,4}(?P<words>\S[^\0]{0,3000})")
_THANKS = frozenset(
    phrases.read(Path(__file__).parent / "words/acknowledgements.txt")[""]
)


def find(task: Task, own_phrases: Collection[str] = ()) -> list[Lesson]:
    """Return what a person says that lasts, and their feedback as it is, as one lesson.

    `own_phrases` are those of the project that say that something lasts.
    """
    found = list(_lasting(task, tuple(own_phrases)))
    if task.is_told_by_person and (told := _feedback(task.feedback, own_phrases)):
        found.append(told)
    return found


def is_in(prompt: str, own_phrases: Collection[str] = ()) -> bool:
    """Return whether a prompt has a sentence that says by itself that it lasts."""
    return any(_spans(prompt, tuple(own_phrases)))


def _lasting(task: Task, own: tuple[str, ...]) -> Iterator[Lesson]:
    for field, start, text in _texts(task):
        for first, last, before, after in islice(_spans(text, own), MAX_LASTING):
            yield _lesson(
                text[first:last],
                [Quote(text[before:after], field, start + before, start + after)],
                LASTS,
            )


def _texts(task: Task) -> Iterator[tuple[str, int, str]]:
    """Yield (field, start, text) of what a person may say besides feedback on the task."""
    if task.is_prompt:
        yield "goal", 0, task.goal
    if task.feedback_source == "agent" and not task.is_told_by_person:
        yield "feedback", 0, task.feedback
    for call in task.calls:
        said = _USER_SAID.search(call.result)
        if said and tool_calls.is_refusal(call.result):
            yield call.result_field, said.start("words"), said["words"]


def _spans(text: str, own: tuple[str, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the span of each sentence that lasts, and the span with its neighbours."""
    if len(text) > MAX_TALK:
        text = text[:MAX_TALK].partition("\n\n")[0]
    plain = _PASTED.sub(lambda match: " " * len(match[0]), text)
    spans = list(sentences.split(text))
    for at, (start, end) in enumerate(spans):
        if end - start <= MAX_SENTENCE and says_it_lasts(plain[start:end], own):
            neighbours = spans[max(at - 1, 0) : at + 2]
            yield start, end, neighbours[0][0], neighbours[-1][1]


def _feedback(feedback: str, own_phrases: Collection[str]) -> Lesson | None:
    """Return the sentences of feedback as one lesson, without praise and "commit it"."""
    kept = [
        (start, end)
        for start, end in sentences.split(feedback)
        if not _is_acknowledgement(feedback[start:end])
    ]
    while kept and kept[-1][1] - kept[0][0] > MAX_FEEDBACK:
        kept.pop()
    if not kept:
        return None
    content = " ".join(feedback[start:end] for start, end in kept)
    quotes = [Quote(feedback[a:b], "feedback", a, b) for a, b in _runs(feedback, kept)]
    lasts = is_in(feedback, own_phrases)
    return _lesson(content, quotes, LASTS if lasts else SAID)


def _is_acknowledgement(sentence: str) -> bool:
    words = [word.casefold() for word in WORD.findall(sentence)]
    return all(word.replace("\u2019", "'") in _THANKS for word in words)


def _runs(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, those joined that only white space parts."""
    runs = spans[:1]
    for start, end in spans[1:]:
        if text[runs[-1][1] : start].strip():
            runs.append((start, end))
        else:
            runs[-1] = (runs[-1][0], end)
    return runs


def _lesson(content: str, quotes: Collection[Quote], confidence: float) -> Lesson:
    return Lesson(
        content=content,
        kind=Kind.INSTRUCTION,
        quotes=tuple(quotes),
        applies_to=_reach(content) or (("always",) if confidence == LASTS else ()),
        category="best_practices",
        confidence=confidence,
    )


def _reach(content: str) -> tuple[str, ...]:
    """Return the paths that a sentence names, or else the languages."""
    paths = [path for path in literals.find_paths(content) if "/" in path]
    inside = [f"path:{path}" for path in paths if path[0] not in "/~."][:3]
    words = re.findall(r"[A-Za-z][\w+#-]{0,30}", content)[1:]
    spoken = (f"language:{name}" for name in map(languages.of_word, words) if name)
    return tuple(dict.fromkeys(inside or spoken))
