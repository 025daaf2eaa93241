from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from memory_project import views

urlpatterns = [
    path("", RedirectView.as_view(url="/admin/")),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", include("console.urls")),
    path("admin/", admin.site.urls),
    path("healthz", views.healthz),
    path("readyz", views.readyz),
    path("metrics", views.MetricsView.as_view()),
    path("api/schema", views.SchemaView.as_view(), name="schema"),
    path("api/docs", views.DocsView.as_view()),
    # The name of a project may have slashes, so `projects/{id}/indexing` of the memories
    # comes before `projects/{id}`.
    path("api/v1/", include("memories.urls")),
    path("api/v1/", include("access.urls")),
    path("api/v1/", include("conversations.urls")),
    path("api/v1/", include("agents.urls")),
    path("api/v1/", include("playbook.urls")),
    path("api/v1/", include("ace.urls")),
    path("api/v1/", include("context.urls")),
    path("", include("mcp_server.urls")),
]
