"""Find what a person asks for that they may have to ask for again.

One telling is a wish of the moment. When a later session tells it again, it is a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ace.rules.feedback import conversation, permanence, verbs
from ace.rules.task import Task

MAX_TEXT = 3_000
MAX_WISHES = 6
MIN_WORDS, MAX_WORDS = 2, 16

_LEAD = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|no|and|also|but|so|then|now|sorry|hmm|please|maybe|actually"
    r"|again)\b[,.]? ){0,3}"
    r"(?:(?:can|could|would|should|shall) (?:you|we|i) |let['\u2019]s |let us "
    r"|(?:i(?:['\u2019]d| would) like|i want) (?:you )?to |(?:we|you) (?:should|need to|have to) )?"
    r"(?:(?:please|also|first|just|maybe) ){0,2}",
    re.IGNORECASE,
)
_SPEAKS = re.compile(
    r"[^.!?\n]{0,30}?\b(?:(?:can|could|would|should|shall) (?:you|we|i)|please|let['\u2019]?s"
    r"|let us|i(?:['\u2019]d| would) like|(?:we|you) (?:should|need to|have to)|do not"
    r"|don['\u2019]?t|never)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"(?:do not|don['\u2019]?t|never|stop) ", re.IGNORECASE)
_TAIL = re.compile(
    r"(?:,? (?:please|now|again|too|for now|first|for me|just in case|(?:for|to|of|on|in|with)"
    r" (?:this|that|it|them|these|those))){1,4}[ .!?]{0,5}$",
    re.IGNORECASE,
)
# Words that point at one thing, or name it: the wish holds for that thing only.
_ONE_THING = re.compile(
    r"\b(?:this|that|it|its|them|these|those|he|she|one|ones|option|following)\b|[`\"#/]|\d"
    r"|[a-z][A-Z]|\w_\w|\(|:",
)
# These ask for an answer, not for a way to work.
_INQUIRES = re.compile(
    r"\b(?:explain|tell|show|help|remind|what|why|how|where|when|who|understand|know)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{3,30}")
# Words that most requests have. A request of these alone has no object.
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "you",
        "can",
        "could",
        "should",
        "would",
        "please",
        "add",
        "make",
        "check",
        "look",
        "into",
        "all",
        "any",
        "some",
        "run",
        "use",
        "let",
        "get",
        "put",
        "fix",
        "implement",
        "change",
        "changes",
        "continue",
        "start",
        "keep",
        "going",
        "next",
        "step",
        "also",
        "now",
        "again",
        "new",
        "more",
        "with",
        "from",
        "not",
        "don",
        "does",
        "just",
        "only",
        "work",
        "thing",
        "things",
        "code",
    ]
)


@dataclass(frozen=True)
class Wish:
    """A request, as a command, with the stems of its objects and the place of its sentence."""

    field: str
    start: int
    end: int
    command: str
    objects: frozenset[str]

    @property
    def content(self) -> str:
        """The wish as a rule."""
        is_forbidden = _FORBIDS.match(self.command)
        rest = self.command[is_forbidden.end() :] if is_forbidden else self.command
        lead = "Do not" if is_forbidden else "Make sure to"
        return f"{lead} {rest}: people asked for it in more than one session."


def find(task: Task) -> list[Wish]:
    """Return what people ask for in the goal and in the feedback."""
    fields = ["goal"] if task.feedback_source == "agent" else ["goal", "feedback"]
    found = {wish.command: wish for field in fields for wish in _of_text(task, field)}
    return list(found.values())[:MAX_WISHES]


def _of_text(task: Task, field: str) -> Iterator[Wish]:
    text = task.text(field)[:MAX_TEXT]
    own_words = permanence.blank_quotes(text)
    for start, end in conversation.split(text):
        # Such a sentence needs no second telling (`lasting_requests`).
        if (
            field == "goal"
            and task.is_prompt
            and permanence.says_that_it_lasts(own_words[start:end])
        ):
            continue
        # "Book a seat to Porto" is a task, and no wish about how to work.
        if field == "goal" and not _SPEAKS.match(text[start:end]):
            continue
        command = _command(text[start:end])
        objects = objects_of(command)
        if objects:
            yield Wish(field, start, end, command, objects)


def _command(sentence: str) -> str:
    """Return the command in a request, or "" if the sentence asks for one thing or nothing."""
    lead = _LEAD.match(sentence)
    text = _TAIL.sub("", sentence[lead.end() if lead else 0 :]).strip(" .,!?")
    text = text[:1].lower() + text[1:]
    words = text.split()
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        return ""
    if _ONE_THING.search(text) or _INQUIRES.search(text) or text.startswith("fix "):
        return ""
    return text if _FORBIDS.match(text) or verbs.is_base(words[0]) else ""


def objects_of(command: str) -> frozenset[str]:
    """Return the words that say what a request is about, without their plural."""
    words = (word for word in _WORD.findall(command.lower()) if word not in _COMMON)
    return frozenset(word.removesuffix("s") for word in words)
