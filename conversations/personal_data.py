"""Register the data of sessions that a purge removes.

A purge of a session or of a user deletes the rows. Only the changelog stays, with its texts
masked. Single messages of a session that stays are masked, if a higher app adds their ids to
the scope; the summaries over them are deleted, and a later compaction summarizes again.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from common import errors
from common.erasure.handlers import (
    ErasableColumns,
    ErasureHandler,
    register,
    rows_of,
)
from common.erasure.redaction import (
    empty,
    json_redactor,
    name_variants,
    redact,
    redact_name,
)
from common.erasure.scope import ErasureScope
from conversations.formats.message import ChatMessage
from conversations.messages.append import count_tokens
from conversations.messages.receive_transcript import KIND
from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Invocation,
    MemorySwitch,
    Message,
    MessageVector,
    Session,
    Summary,
    SummaryVector,
    Transcript,
)
from conversations.search_index.search_columns import CORPORA, fill_message
from conversations.summarizers import ExtractiveSummarizer
from jobs.models import Job
from search import statistics

# The most messages that are purged while the caller waits; a job purges more.
MAX_INLINE = 2_000
AUTHOR_NAME = "names who did it: an agent, a key or an account"
SERVICE_VALUE = "made by the service, of no text"


class TranscriptUnfinished(errors.StateConflict):
    """A job still learns from a transcript of this session; try again when it is finished."""

    code = "transcript_unfinished"


def owner_conditions(erasure: ErasureScope) -> tuple[Q | None, Q | None]:
    """Return the conditions of the sessions and of the agent memories that are selected."""
    selection = dict(erasure.selection)
    scope = selection.get("scope") or {}
    kind = scope.get("kind")
    if kind == "session":
        # A session scope without a user is that of the anonymous session.
        return Q(key=scope["session_id"], user_id=scope.get("user_id", "")), None
    if kind == "user":
        selection = {"user_id": scope["user_id"]} if "user_id" in scope else {}
    if "session_id" in selection:
        return Q(key=selection["session_id"]), None
    if "user_id" in selection:
        of_user = Q(user_id__in=name_variants(selection["user_id"]))
        return of_user, of_user
    return None, None


def _messages(erasure: ErasureScope) -> Any:
    return Message.objects.light().filter(session__in=erasure.ids_of("session"))


def _masked_messages(erasure: ErasureScope) -> Any:
    rows = Message.objects.light().filter(pk__in=erasure.ids_of("message"))
    return rows.exclude(session__in=erasure.ids_of("session"))


def _summaries(erasure: ErasureScope) -> Any:
    of_sessions = Q(session__in=erasure.ids_of("session"))
    return Summary.objects.light().filter(
        of_sessions | Q(pk__in=erasure.ids_of("summary"))
    )


def _vectors(model: Any, owner: str) -> Any:
    def rows(erasure: ErasureScope) -> Any:
        of_sessions = Q(**{f"{owner}__session__in": erasure.ids_of("session")})
        of_rows = Q(**{f"{owner}__in": erasure.ids_of(owner)})
        return model.objects.filter(of_sessions | of_rows).defer("embedding")

    return rows


def _sessions_to_change(erasure: ErasureScope) -> QuerySet[Session]:
    """Return the sessions that stay and of which messages are masked."""
    masked = Message.objects.filter(pk__in=erasure.ids_of("message"))
    rows = Session.objects.filter(pk__in=masked.values("session"))
    return rows.exclude(pk__in=erasure.ids_of("session"))


def _is_learned_from(sessions: QuerySet[Session]) -> bool:
    """Whether a worker has words of these sessions in hand, which it would store again.

    A job that begins later waits for the locks of the sessions.
    """
    transcripts = Transcript.objects.filter(session__in=sessions)
    jobs = Job.objects.filter(
        kind=KIND,
        key__in=list(map(str, transcripts.values_list("pk", flat=True))),
        state=Job.State.RUNNING,
        lease_until__gt=timezone.now(),
    )
    return jobs.exists()


def _recompute_message(message: Message) -> None:
    masked = ChatMessage(message.role, tuple(message.parts))
    message.text, message.tokens = masked.text, count_tokens(masked)
    message.has_words = False
    # A compaction that has read the words must not store them in a summary.
    message.redacted_at = timezone.now()
    fill_message(message, "simple")


@register
class ConversationErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            MessageVector, _vectors(MessageVector, "message"), derived=("embedding",)
        ),
        ErasableColumns(
            Message,
            _masked_messages,
            {
                "parts": json_redactor("type", "id", "name", "is_error"),
                "metadata": empty,
            },
            derived=("text", "tokens", "has_words", "redacted_at", "content_tsv"),
            recompute=_recompute_message,
        ),
        ErasableColumns(
            Message,
            _messages,
            deleted=("parts", "text", "external_id", "metadata"),
            derived=("content_tsv",),
        ),
        ErasableColumns(
            SummaryVector, _vectors(SummaryVector, "summary"), derived=("embedding",)
        ),
        ErasableColumns(
            Summary, _summaries, deleted=("content",), derived=("content_tsv",)
        ),
        ErasableColumns(
            Invocation,
            rows_of(Invocation, "session", "session"),
            deleted=("query", "summary", "result"),
        ),
        ErasableColumns(
            Transcript,
            rows_of(Transcript, "session", "session"),
            deleted=("prefix", "cursor"),
        ),
        ErasableColumns(
            Session,
            rows_of(Session, "session"),
            deleted=("key", "user_id", "channel", "title", "metadata"),
        ),
        ErasableColumns(
            AgentMemory,
            rows_of(AgentMemory, "agent_memory"),
            deleted=("user_id", "profile", "soul", "constraints"),
        ),
        ErasableColumns(
            MemorySwitch, rows_of(MemorySwitch, "memory_switch"), deleted=("user_id",)
        ),
        ErasableColumns(
            AgentMemoryChange,
            rows_of(AgentMemoryChange, "agent_memory_change"),
            {
                **dict.fromkeys(("user_id", "before_text", "after_text"), redact),
                "session_key": redact_name,
            },
        ),
        ErasableColumns(
            AgentMemoryChange,
            rows_of(AgentMemoryChange, "agent_memory_origin"),
            {"session_key": redact_name},
        ),
    )
    no_text = {
        Session: {"agent_id": AUTHOR_NAME, "writers": "opaque names of persons"},
        Message: {
            "role": SERVICE_VALUE,
            "content_terms": "generated of content_tsv",
        },
        Summary: {
            **dict.fromkeys(("summary_id", "summarizer", "model"), SERVICE_VALUE),
            "content_terms": "generated of content_tsv",
        },
        Transcript: {
            **dict.fromkeys(("agent_id", "actor"), AUTHOR_NAME),
            "format": SERVICE_VALUE,
        },
        MessageVector: {"model": SERVICE_VALUE},
        SummaryVector: {"model": SERVICE_VALUE},
        AgentMemory: {"agent_id": AUTHOR_NAME},
        AgentMemoryChange: {
            **dict.fromkeys(("agent_id", "actor"), AUTHOR_NAME),
            **dict.fromkeys(("scope", "action", "source"), SERVICE_VALUE),
        },
    }

    def expand(self, erasure: ErasureScope) -> None:
        of_sessions, of_users = owner_conditions(erasure)
        if of_sessions is not None:
            rows = Session.objects.filter(of_sessions, project_id=erasure.project_id)
            erasure.add("session", rows.values_list("pk", flat=True))
            self._add_changes(erasure, of_users)
        if of_users is not None:
            kept = AgentMemory.objects.filter(of_users, project_id=erasure.project_id)
            erasure.add("agent_memory", kept.values_list("pk", flat=True))
            off = MemorySwitch.objects.filter(of_users, project_id=erasure.project_id)
            erasure.add("memory_switch", off.values_list("pk", flat=True))
        if masked := erasure.ids_of("message"):
            of_session = Message.objects.filter(
                pk__in=masked,
                session=OuterRef("session"),
                seq__range=(OuterRef("first_seq"), OuterRef("last_seq")),
            )
            before = Message.objects.filter(
                pk__in=masked,
                session=OuterRef("session"),
                seq__lte=OuterRef("last_seq"),
            )
            # A language model reads the summary before a text, and may quote it.
            by_model = Summary.objects.filter(session=OuterRef("session"))
            by_model = by_model.exclude(summarizer=ExtractiveSummarizer.name)
            sessions = Message.objects.filter(pk__in=masked).values("session")
            over = Summary.objects.filter(
                Exists(of_session) | Exists(before) & Exists(by_model),
                session__in=sessions,
            )
            erasure.add("summary", over.values_list("pk", flat=True))

    def _add_changes(self, erasure: ErasureScope, of_users: Q | None) -> None:
        """Add the changelog: whole for a purged user, else what only the session said.

        A version of a profile, soul or constraint outlives the session in which it was
        written, as the agent memory does; only the session's name is masked in it.
        """
        changes = AgentMemoryChange.objects.filter(project_id=erasure.project_id)
        of_sessions = changes.filter(session_id__in=erasure.ids_of("session"))
        erased = of_sessions.filter(version_after=None)
        if of_users is not None:
            erased = changes.filter(of_users) | of_sessions
        erasure.add("agent_memory_change", erased.values_list("pk", flat=True))
        kept = of_sessions.exclude(pk__in=erasure.ids_of("agent_memory_change"))
        erasure.add("agent_memory_origin", kept.values_list("pk", flat=True))

    def is_large(self, erasure: ErasureScope) -> bool:
        rows = Session.objects.filter(pk__in=erasure.ids_of("session"))
        messages = rows.aggregate(messages=Sum("last_seq"))["messages"] or 0
        return bool(messages > MAX_INLINE)

    def lock(self, erasure: ErasureScope) -> None:
        sessions = Session.objects.filter(
            Q(pk__in=erasure.ids_of("session"))
            | Q(pk__in=_sessions_to_change(erasure).values("pk"))
        )
        agent_memories = AgentMemory.objects.filter(
            pk__in=erasure.ids_of("agent_memory")
        )
        switches = MemorySwitch.objects.filter(pk__in=erasure.ids_of("memory_switch"))
        every: list[QuerySet[Any]] = [sessions, agent_memories, switches]
        for rows in every:
            chosen = rows.order_by("pk").select_for_update()
            list(chosen.values_list("pk", flat=True))
        if _is_learned_from(sessions):
            raise TranscriptUnfinished

    def finish(self, erasure: ErasureScope) -> None:
        if not (erasure.ids_of("session") or erasure.ids_of("message")):
            return
        for session in _sessions_to_change(erasure):
            session.add_up()
            session.save(
                update_fields=["message_count", "token_count", "context_tokens"]
            )
        for name, counted_rows in CORPORA.items():
            rows = counted_rows()
            statistics.rebuild(rows, project_id=erasure.project_id, name=name)
