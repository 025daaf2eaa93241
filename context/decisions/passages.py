"""Find the passages of earlier conversations and commits that are about a text.

A passage is what a person said, the closing words of an agent's exchange, or a commit. What a
tool printed, and what an agent said on its way, decides nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connections
from django.db.models import OuterRef, Q, Subquery

from common.caller import Caller
from common.text import literals
from conversations.invocations.switch import is_memory_on
from conversations.models import Message, Session
from conversations.queries import MessageQuerySet
from conversations.search_index.search_columns import MESSAGES, words_of
from conversations.session_search import search as session_search
from conversations.session_search.search import RankedRow, SessionSearch
from conversations.sessions import writers
from conversations.sessions.lifecycle import COMMITS
from conversations.transcripts.tasks import is_outside_of_tasks, prompt_of
from inference.embedding.vector import Vector
from playbook.rule_text.unsafe_phrases import is_unsafe
from projects.models import Project
from search import bm25
from search.bm25 import Term

DEPTH = 30  # hits that are looked at
# What the words add to the cosine: this part of their share of the greatest possible score.
WORDS_ADD = 0.15
# A name decides before the score does if at most so many conversations and messages have it.
FEW_CONVERSATIONS, FEW_MESSAGES = 3, 30
USER = Message.MessageRole.USER


@dataclass(frozen=True)
class Passage:
    """A passage that matches a text, best first by `has_name` and `score`.

    `evidence` is its cosine and a part of its share of the words, 0..1.15. `rare` counts the
    words of the text that it has: one that stands nowhere else counts as 1. `has_name` says
    whether it has an identifier of the text that few conversations have.
    """

    id: uuid.UUID
    session_id: uuid.UUID
    seq: int
    moment: datetime
    score: float
    evidence: float
    rare: float
    has_name: bool = False


@dataclass(frozen=True)
class Passages:
    """The passages that match a text, the best first, and the lexemes of the text."""

    found: Sequence[Passage] = ()
    terms: Sequence[Term] = ()

    def count_rare_together(self, ids: Sequence[uuid.UUID]) -> float:
        """Count the rare words of the text that these messages have together."""
        matched = match_terms(ids, self.terms).values()
        return count_rare(set().union(*matched), self.terms)

    def with_name(self) -> Passages:
        """Return the passages that have a rare name of the text."""
        return replace(self, found=[each for each in self.found if each.has_name])


def conversations_of(
    project: Project, caller: Caller, besides: str = ""
) -> MessageQuerySet:
    """Return what persons and agents said in the sessions whose decisions the caller is given.

    These are the sessions of the caller's person and those without a user, but for the session
    with the key `besides`, and for those whose memory is off. What others wrote in the name of
    the person is no word of theirs.
    """
    users = {"", caller.user_id}
    users = {user for user in users if is_memory_on(project, user)}
    own = Q(user_id="") | Q(writers=[]) | Q(writers__contains=[writers.USER])
    sessions = Session.objects.filter(
        own, project=project, user_id__in=users, has_memory=True
    ).exclude(channel=COMMITS)
    if besides:
        sessions = sessions.exclude(key=besides)
    rows: MessageQuerySet = Message.objects.visible_to(caller, project).visible()
    return rows.filter(has_words=True, session__in=sessions.values("pk"))


def find(
    project: Project,
    text: str,
    caller: Caller,
    rows: MessageQuerySet,
    vector: Future[Vector] | None = None,
    *,
    are_neighbours: bool = True,
) -> Passages:
    """Return the passages among the rows that match a text, the best first.

    The messages of a conversation raise each other's score if they `are_neighbours`.
    """
    request = SessionSearch(text, with_neighbours=are_neighbours)
    ranked = session_search.rank(project, request, caller, rows, MESSAGES, vector, {})
    best = sorted(ranked, key=lambda each: -each.score)[:DEPTH]
    closing = _closing_ids([each.place.id for each in best])
    best = [each for each in best if each.place.id in closing]
    if not best:
        return Passages()
    terms = best[0].ranking.terms
    matched = match_terms([each.place.id for each in best], terms)
    few = {term.lexeme for term in terms if term.df <= FEW_MESSAGES}
    names = _names_of_few(text, best, matched) & few
    found = [_measure(each, matched[each.place.id], terms, names) for each in best]
    ordered = sorted(found, key=lambda each: (-each.has_name, -each.score))
    return Passages(ordered, terms)


def _closing_ids(ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    """Return the messages of persons, and those behind which a person speaks, or nobody."""
    later = Message.objects.filter(
        session=OuterRef("session"), seq__gt=OuterRef("seq"), has_words=True
    )
    following = later.visible().order_by("seq").values("role")[:1]
    rows = Message.objects.light().filter(pk__in=ids)
    messages = rows.annotate(next_role=Subquery(following))
    return {
        each.pk
        for each in messages
        if (each.role == USER or each.next_role in (USER, None)) and read_words(each)
    }


def read_words(message: Message) -> str:
    """Return what a person or an agent said in a message, without what a harness put there.

    What gives orders to an agent is not quoted to another one.
    """
    if message.role == USER:
        words = prompt_of(message)
    else:
        words = "" if is_outside_of_tasks(message) else words_of(message).strip()
    return "" if is_unsafe(words) else words


def match_terms(
    ids: Sequence[uuid.UUID], terms: Sequence[Term]
) -> dict[uuid.UUID, set[str]]:
    """Return which of the lexemes of a text each message has."""
    sql = (
        "SELECT id, ARRAY(SELECT unnest(tsvector_to_array(content_tsv))"
        " INTERSECT SELECT unnest(%s::text[])) FROM conversations_message WHERE id = ANY(%s)"
    )
    with connections[Message.objects.db].cursor() as cursor:
        cursor.execute(sql, [[term.lexeme for term in terms], list(ids)])
        found = {pk: set(lexemes) for pk, lexemes in cursor.fetchall()}
    return {pk: found.get(pk, set()) for pk in ids}


def _names_of_few(
    text: str, rows: Iterable[RankedRow], found: dict[uuid.UUID, set[str]]
) -> set[str]:
    """Return the identifiers of the text that one to FEW_CONVERSATIONS conversations have."""
    sessions: dict[str, set[uuid.UUID]] = {
        name.lower(): set() for name in literals.find_identifiers(text)
    }
    for row in rows:
        for lexeme in found[row.place.id] & sessions.keys():
            sessions[lexeme].add(row.place.session_id)
    return {
        name for name, each in sessions.items() if 0 < len(each) <= FEW_CONVERSATIONS
    }


def _measure(
    row: RankedRow, found: set[str], terms: Sequence[Term], names: set[str]
) -> Passage:
    lanes = row.hit.lanes
    cosine = lanes["semantic"].score if "semantic" in lanes else 0.0
    words = lanes["keyword"].score if "keyword" in lanes else 0.0
    place = row.place
    return Passage(
        place.id,
        place.session_id,
        place.seq,
        place.moment,
        row.score,
        evidence=cosine + WORDS_ADD * words / bm25.max_score(terms),
        rare=count_rare(found, terms),
        has_name=bool(names & found),
    )


def count_rare(found: set[str], terms: Sequence[Term]) -> float:
    """Count the words that a passage has, each by how rare it is: 1 if it stands nowhere else."""
    return sum(
        term.idf / bm25.idf(1, term.documents) for term in terms if term.lexeme in found
    )
