"""Choose the decisions about a prompt: a conversation, what amended it, and a commit."""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from common.caller import Caller
from common.text import literals
from context.decisions import passages, quotes
from context.decisions.passages import Passage, Passages
from context.decisions.quotes import Quote
from conversations.invocations import switch
from conversations.messages.commits import find_commits
from conversations.queries import MessageQuerySet
from conversations.sessions.lookup import look_up
from projects.models import Project
from search import search as row_search

# A passage answers a prompt from both values on. Evidence alone passes on "fix the tests".
# Measured by `bin/bench decisions`, with the same reports while their answer is absent, in a
# store of ROWS messages. Among ten times as many, one comes near by chance more often.
EVIDENCE = 0.51
RARE = 2.6
ROWS, MORE_EVIDENCE = 1_500, 0.1
LEAST, MOST = 0.4, 0.65
# A prompt of fewer words beside its names, such as "review PR 104", has no subject of its own.
MIN_WORDS = 6
# A later conversation amends a decision if its score is so many times that of every other one
# and it has so many rare words of the prompt itself, or if it is FAR_AHEAD. Of 14 amendments
# that were written blind, 13 were first, 1.5 to 6 times ahead; without one, the first is at
# most 1.8 times ahead.
AHEAD, FAR_AHEAD = 1.5, 3.0
RARE_OF_PROMPT = 1.0
MAX_HOPS = 3
MAX_PROMPT = 4_000  # characters that are read
MAX_BYTES = 1_600  # of all quotes; with what stands beside them, under 500 tokens
# Shares of MAX_BYTES: the decision that holds, one that it amends, a commit beside them.
LATEST, AMENDED, COMMIT = 1.0, 0.5, 0.5
MAX_NEAR = 5


@dataclass(frozen=True)
class Answer:
    """A conversation or a commit whose passage answers a prompt.

    `share` is its share of the bytes. `is_latest` says that it amends an older one, which is
    given too.
    """

    passage: Passage
    share: float = LATEST
    is_commit: bool = False
    is_latest: bool = False

    @property
    def id(self) -> uuid.UUID:
        """The conversation, or the message of the commit."""
        return self.passage.id if self.is_commit else self.passage.session_id


@dataclass(frozen=True)
class Decision:
    """An answer in the words of those who decided."""

    answer: Answer
    quote: Quote


@dataclass(frozen=True)
class Decisions:
    """What is given, oldest first, and what was near: conversations and commits, best first."""

    given: Sequence[Decision] = ()
    near: Sequence[Answer] = ()

    @property
    def refused(self) -> list[Answer]:
        """The nearest conversations and commits that are not given, each once."""
        seen = {each.answer.id for each in self.given}
        found = []
        for each in self.near:
            if each.id not in seen:
                seen.add(each.id)
                found.append(each)
        return found


def find(
    project: Project,
    prompt: str,
    caller: Caller,
    *,
    session: str = "",
    said: Collection[uuid.UUID] = (),
) -> Decisions:
    """Return the decisions about a prompt, but for those of the session itself.

    One that was `said` is not given again, and others then need the most evidence: mostly the
    session goes on with the same subject. Where memory is off, nothing is given.
    """
    if not _is_memory_on(project, caller, session):
        return Decisions()
    text = prompt[:MAX_PROMPT]
    vector = row_search.begin_vector(text, "hybrid")
    talk = passages.conversations_of(project, caller, besides=session)
    commits = find_commits(project, caller)
    spoken = passages.find(project, text, caller, talk, vector)
    written = passages.find(
        project, text, caller, commits, vector, are_neighbours=False
    )
    near = [
        *(Answer(each) for each in spoken.found[:MAX_NEAR]),
        *(Answer(each, COMMIT, is_commit=True) for each in written.found[:MAX_NEAR]),
    ]
    if len(_own_words(text)) < MIN_WORDS:
        spoken, written = spoken.with_name(), written.with_name()
    answers: list[Answer] = []
    if first := _choose(spoken, is_again=bool(said)):
        answers = [Answer(first)]
        if later := _find_latest(project, caller, talk, first, spoken, text):
            answers = [Answer(first, AMENDED), Answer(later, is_latest=True)]
        # What it amends is not said behind the decision that holds.
        if answers[-1].id in said:
            answers = []
    rows = commits.count() if written.found else 0
    if commit := _choose(written, is_again=bool(said), rows=rows):
        answers.append(Answer(commit, COMMIT, is_commit=True))
    answers = [each for each in answers if each.id not in said]
    given = [_quote(each, answers, text) for each in answers]
    # A decision without the one that holds would mislead.
    if any(a.is_latest and not d for a, d in zip(answers, given, strict=True)):
        given = []
    quoted = filter(None, given)
    return Decisions(sorted(quoted, key=lambda each: each.quote.moment), near)


def _is_memory_on(project: Project, caller: Caller, session: str) -> bool:
    """Whether the person and the session that ask may be given what was said."""
    user = caller.user_id
    asking = look_up(project, session, caller, user_id=user) if session else None
    return switch.is_memory_on(project, user, asking)


def _own_words(text: str) -> set[str]:
    """Return the words of a prompt that are no names, and not in every prompt."""
    for name in literals.find_identifiers(text):
        text = text.replace(name, " ")
    return quotes.words_of(text)


def _quote(answer: Answer, answers: Sequence[Answer], prompt: str) -> Decision | None:
    part = answer.share / sum(each.share for each in answers)
    room = int(MAX_BYTES * part)
    if answer.is_commit:
        quote = quotes.quote_commit(answer.passage, prompt, room)
    elif answer.is_latest:
        quote = quotes.quote_conversation(answer.passage, prompt, room, least=1)
    else:
        quote = quotes.quote_conversation(answer.passage, prompt, room)
    return Decision(answer, quote) if quote else None


def least_evidence(rows: int) -> float:
    """Return the evidence that a passage needs among a number of rows."""
    more = MORE_EVIDENCE * math.log10(max(1, rows) / ROWS)
    return min(MOST, max(LEAST, EVIDENCE + more))


def _choose(
    found: Passages, *, is_again: bool = False, rows: int | None = None
) -> Passage | None:
    """Return the best passage, if it or another one of its conversation answers the text.

    Without `rows`, all messages that were counted were searched.
    """
    if not found.found:
        return None
    counted = max((term.documents for term in found.terms), default=1)
    least = MOST if is_again else least_evidence(rows or counted)
    best = found.found[0]
    own = (each for each in found.found if each.session_id == best.session_id)
    answers = any(each.evidence >= least and each.rare >= RARE for each in own)
    return best if answers else None


def _find_latest(
    project: Project,
    caller: Caller,
    talk: MessageQuerySet,
    first: Passage,
    asked: Passages,
    prompt: str,
) -> Passage | None:
    """Return a passage of the newest conversation that speaks of the same decision.

    Each hop searches later conversations for the words of the one before.
    """
    latest = None
    at = first
    seen = {first.session_id}
    for _ in range(MAX_HOPS):
        quote = quotes.quote_conversation(at, prompt, MAX_BYTES, least=1)
        if quote is None:
            break
        later = talk.filter(created_at__gt=quote.moment).exclude(session__in=seen)
        found = passages.find(project, quote.text, caller, later)
        if not _speaks_of_the_same(found, asked):
            break
        latest = at = found.found[0]
        seen.add(latest.session_id)
    return latest


def _speaks_of_the_same(found: Passages, asked: Passages) -> bool:
    """Whether the best conversation is about a decision: far ahead of every other one.

    People amend in words of their own, so its evidence may be weaker than that of an answer.
    """
    if not found.found:
        return False
    best = found.found[0]
    own = [each for each in found.found if each.session_id == best.session_id]
    rest = (each.score for each in found.found if each.session_id != best.session_id)
    second = max(rest, default=0.0)
    ids = [each.id for each in own]
    return (
        best.score >= AHEAD * second
        and max(each.evidence for each in own) >= LEAST
        and found.count_rare_together(ids) >= RARE
        and (
            best.score >= FAR_AHEAD * second
            or asked.count_rare_together(ids) >= RARE_OF_PROMPT
        )
    )
