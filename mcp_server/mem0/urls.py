"""The routes of mem0's HTTP API that its Python client 2.2.1 calls."""

from __future__ import annotations

from django.urls import path

from mcp_server.mem0.views.batches import Mem0BatchView
from mcp_server.mem0.views.entities import EntitiesView, EntityView
from mcp_server.mem0.views.feedback import MemoryFeedbackView
from mcp_server.mem0.views.memories import (
    AddMemoriesView,
    AllMemoriesView,
    MemoriesPageView,
    MemoryChangesView,
    OneMemoryView,
    PingView,
    SearchMemoriesView,
)
from mcp_server.mem0.views.missing_features import MissingFeatureView
from mcp_server.mem0.views.projects import Mem0ProjectsView, Mem0ProjectView

NO_EXPORT = (
    "Exports by a schema are not offered: read the memories with get_all, page by page, or "
    "export the project with `manage.py export`."
)
NO_SUMMARY = (
    "Summaries of memories are not offered: POST /api/v1/context/digest gives what is worth "
    "knowing."
)
NO_PROFILE = (
    "Profiles by a schema are not offered: an agent keeps a profile of each user as text, "
    "GET /api/v1/agent-memory/profile."
)
NO_MEMBERS = (
    "Members have user names and other roles here: an owner sets them with "
    "POST /api/v1/projects/{id}/members."
)
NO_WEBHOOK = (
    "Webhooks for memories are not offered: read what changed with GET /api/v1/audit."
)
ORGANIZATION = "api/v1/orgs/organizations/<str:org_id>/projects"
PROJECT = f"{ORGANIZATION}/<str:project_id>"


urlpatterns = [
    path("v1/ping/", PingView.as_view()),
    path("v3/memories/", MemoriesPageView.as_view()),
    path("v3/memories/add/", AddMemoriesView.as_view()),
    path("v3/memories/search/", SearchMemoriesView.as_view()),
    path("v1/memories/", AllMemoriesView.as_view()),
    path("v1/memories/<str:memory_id>/", OneMemoryView.as_view()),
    path("v1/memories/<str:memory_id>/history/", MemoryChangesView.as_view()),
    path("v1/batch/", Mem0BatchView.as_view()),
    path("v1/feedback/", MemoryFeedbackView.as_view()),
    path("v1/entities/", EntitiesView.as_view()),
    path(f"{ORGANIZATION}/", Mem0ProjectsView.as_view()),
    path(f"{PROJECT}/", Mem0ProjectView.as_view()),
    path(f"{PROJECT}/members/", MissingFeatureView.as_view(mend=NO_MEMBERS)),
    path("v1/exports/", MissingFeatureView.as_view(mend=NO_EXPORT)),
    path("v1/exports/get/", MissingFeatureView.as_view(mend=NO_EXPORT)),
    path("v1/summary/", MissingFeatureView.as_view(mend=NO_SUMMARY)),
    path(
        "v2/entities/user/<str:entity_id>/profile/",
        MissingFeatureView.as_view(mend=NO_PROFILE),
    ),
    # A name may have slashes. This route would match that of the profile too.
    path("v2/entities/<str:kind>/<path:entity_id>/", EntityView.as_view()),
    path("v2/profiles/settings/", MissingFeatureView.as_view(mend=NO_PROFILE)),
    path("v2/profiles/jobs/", MissingFeatureView.as_view(mend=NO_PROFILE)),
    path("v2/profiles/jobs/<str:job_id>/", MissingFeatureView.as_view(mend=NO_PROFILE)),
    path(
        "api/v1/webhooks/projects/<str:project_id>/",
        MissingFeatureView.as_view(mend=NO_WEBHOOK),
    ),
    path(
        "api/v1/webhooks/<str:webhook_id>/",
        MissingFeatureView.as_view(mend=NO_WEBHOOK),
    ),
]
