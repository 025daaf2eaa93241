"""Routes of the REST API of sessions."""

from __future__ import annotations

from django.urls import path, register_converter

from conversations.views import (
    agent_memory,
    commits,
    contexts,
    messages,
    person,
    session_search,
    sessions,
    tool,
    transcripts,
)
from conversations.views.base import SessionKeyConverter

register_converter(SessionKeyConverter, "session_key")

SESSION = "sessions/<session_key:key>"

urlpatterns = [
    path("commits", commits.CommitsView.as_view()),
    path("sessions", sessions.SessionsView.as_view()),
    path("sessions/search", session_search.SearchSessionsView.as_view()),
    path(SESSION, sessions.SessionDetailView.as_view()),
    path(f"{SESSION}/fork", sessions.ForkView.as_view()),
    path(f"{SESSION}/claim", sessions.ClaimView.as_view()),
    path(f"{SESSION}/stats", sessions.StatsView.as_view()),
    path(f"{SESSION}/messages", messages.MessagesView.as_view()),
    path(f"{SESSION}/messages/<int:seq>/redact", messages.RedactView.as_view()),
    path(f"{SESSION}/transcript", transcripts.TranscriptView.as_view()),
    path(f"{SESSION}/assemble", contexts.AssembleView.as_view()),
    path(f"{SESSION}/compaction", contexts.CompactionNeedView.as_view()),
    path(f"{SESSION}/compact", contexts.CompactView.as_view()),
    path(f"{SESSION}/summaries", contexts.SummariesView.as_view()),
    path(f"{SESSION}/review", contexts.ReviewView.as_view()),
    path(f"{SESSION}/capabilities", tool.CapabilitiesView.as_view()),
    path(f"{SESSION}/memory-tool", tool.MemoryToolView.as_view()),
    path(f"{SESSION}/search", session_search.SearchSessionView.as_view()),
    path(f"{SESSION}/snapshot", agent_memory.SnapshotView.as_view()),
    path(f"{SESSION}/snapshot/advance", agent_memory.AdvanceView.as_view()),
    path("summaries/<str:summary_id>", contexts.SummaryView.as_view()),
    path("summaries/<str:summary_id>/expand", contexts.ExpandView.as_view()),
    path("agent-memory/profile", agent_memory.ProfileView.as_view()),
    path("agent-memory/soul", agent_memory.SoulView.as_view()),
    path("agent-memory/constraints", agent_memory.ConstraintsView.as_view()),
    path(
        "agent-memory/constraints/<str:constraint_id>",
        agent_memory.ConstraintView.as_view(),
    ),
    path("agent-memory/changes", agent_memory.ChangesView.as_view()),
    path("users/<path:user_id>/memory", person.PersonView.as_view()),
    path("agent-memory/rollback", agent_memory.RollbackView.as_view()),
]
