"""Register the data of sessions that a purge removes.

A purge of a session or of a user deletes the rows. Only the changelog stays, with its texts
masked.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet, Sum

from common.erasure.handlers import (
    ErasableColumns,
    ErasureHandler,
    register,
    rows_of,
)
from common.erasure.redaction import name_variants, redact, redact_name
from common.erasure.scope import ErasureScope
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
)
from conversations.search_index.search_columns import CORPORA
from search import statistics

# The most messages that are purged while the caller waits; a job purges more.
MAX_INLINE = 2_000
AUTHOR_NAME = "names who did it: an agent, a key or an account"
SERVICE_VALUE = "made by the service, of no text"


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


def _texts(model: Any) -> Any:
    """Return a function that selects the rows of the erased sessions."""

    def rows(erasure: ErasureScope) -> Any:
        return model.objects.light().filter(session__in=erasure.ids_of("session"))

    return rows


def _vectors(model: Any, owner: str) -> Any:
    def rows(erasure: ErasureScope) -> Any:
        sessions = {f"{owner}__session__in": erasure.ids_of("session")}
        return model.objects.filter(**sessions).defer("embedding")

    return rows


@register
class ConversationErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            MessageVector, _vectors(MessageVector, "message"), derived=("embedding",)
        ),
        ErasableColumns(
            Message,
            _texts(Message),
            deleted=("parts", "text", "external_id", "metadata"),
            derived=("content_tsv",),
        ),
        ErasableColumns(
            SummaryVector, _vectors(SummaryVector, "summary"), derived=("embedding",)
        ),
        ErasableColumns(
            Summary, _texts(Summary), deleted=("content",), derived=("content_tsv",)
        ),
        ErasableColumns(
            Invocation,
            rows_of(Invocation, "session", "session"),
            deleted=("query", "summary", "result"),
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
        Session: {"agent_id": AUTHOR_NAME},
        Message: {
            "role": SERVICE_VALUE,
            "content_terms": "generated of content_tsv",
        },
        Summary: {
            **dict.fromkeys(("summary_id", "summarizer", "model"), SERVICE_VALUE),
            "content_terms": "generated of content_tsv",
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
        every: list[tuple[QuerySet[Any], str]] = [
            (Session.objects.all(), "session"),
            (AgentMemory.objects.all(), "agent_memory"),
            (MemorySwitch.objects.all(), "memory_switch"),
        ]
        for rows, kind in every:
            chosen = rows.filter(pk__in=erasure.ids_of(kind)).order_by("pk")
            list(chosen.select_for_update().values_list("pk", flat=True))

    def finish(self, erasure: ErasureScope) -> None:
        if not erasure.ids_of("session"):
            return
        for name, counted_rows in CORPORA.items():
            rows = counted_rows()
            statistics.rebuild(rows, project_id=erasure.project_id, name=name)
