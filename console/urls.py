from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from console.agents.views import AgentPage, RunPage, RunsPage
from console.connect.views import ConnectPage
from console.files.views import FilePage, FilesPage
from console.home.views import HomePage
from console.insights.views import InsightsPage
from console.jobs.views import SchedulesPage
from console.people.views import AgentMemoryPage, PersonPage
from console.playbook import views as playbook
from console.project_page import staff_route
from console.search.views import SearchPage
from console.sessions.views import SessionDetailPage, SessionsPage
from console.weekly.views import WeeklyPage

app_name = "console"

urlpatterns: list[URLPattern | URLResolver] = [
    staff_route("", HomePage, "home"),
    staff_route("weekly/", WeeklyPage, "weekly"),
    staff_route("insights/", InsightsPage, "insights"),
    path("inbox/", include("console.inbox.urls")),
    staff_route("search-memories/", SearchPage, "search"),
    staff_route("files/", FilesPage, "files"),
    staff_route("files/graph/", FilePage, "file"),
    staff_route("sessions/", SessionsPage, "sessions"),
    staff_route("sessions/<uuid:session_id>/", SessionDetailPage, "session"),
    staff_route("agent/", AgentPage, "agent"),
    staff_route("agent-runs/", RunsPage, "agent_runs"),
    staff_route("agent-runs/<uuid:run_id>/", RunPage, "agent_run"),
    staff_route("people/", PersonPage, "person"),
    staff_route("agent-memory/", AgentMemoryPage, "agent_memory"),
    staff_route("connect/", ConnectPage, "connect"),
    staff_route("schedules/", SchedulesPage, "schedules"),
    staff_route("revisions/", playbook.RevisionPage, "playbook"),
    staff_route(
        "revisions/place/<uuid:entry_id>/", playbook.PlacementView, "playbook_place"
    ),
]
