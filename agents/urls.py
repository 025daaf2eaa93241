"""Routes of the REST API of the agent."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.views import config, context, conversations, runs, tiers, tools

RUN = "agents/runs/<uuid:run_id>"
CONVERSATION = "conversations/<str:conversation_id>"

urlpatterns: list[URLPattern] = [
    path("facts", tiers.FactsView.as_view()),
    path("facts/retrieve", tiers.RetrieveFactsView.as_view()),
    path("facts/<uuid:fact_id>", tiers.FactView.as_view()),
    path("episodes", tiers.EpisodesView.as_view()),
    path("episodes/retrieve", tiers.RetrieveEpisodesView.as_view()),
    path("episodes/search", tiers.SearchEpisodesView.as_view()),
    path("episodes/<uuid:episode_id>", tiers.EpisodeView.as_view()),
    path(CONVERSATION, conversations.ConversationView.as_view()),
    path(f"{CONVERSATION}/invocations", conversations.InvocationsView.as_view()),
    path(f"{CONVERSATION}/end", conversations.EndConversationView.as_view()),
    path("agents/tools", tools.ToolsView.as_view()),
    path("agents/tools/<str:name>", tools.ToolDetailView.as_view()),
    path("agents/react-mem", runs.ReactMemView.as_view()),
    path("agents/runs", runs.RunsView.as_view()),
    path(RUN, runs.RunView.as_view()),
    path(f"{RUN}/events", runs.RunEventsView.as_view()),
    path(f"{RUN}/confirm", runs.ConfirmRunView.as_view()),
    path("context/invocation", context.InvocationContextView.as_view()),
    path("agents/config", config.AgentConfigView.as_view()),
]
