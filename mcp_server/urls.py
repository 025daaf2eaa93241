from __future__ import annotations

from django.urls import include, path

from mcp_server import views
from mcp_server.hooks.views import HookStatusView, HookView

urlpatterns = [
    path("hooks/status", HookStatusView.as_view()),
    path("hooks/<str:harness>", HookView.as_view()),
    path("mcp", views.serve),
    path("mcp/<id_or_name:project>", views.serve),
    # The project of the key, or the one that the address names.
    path("", include("mcp_server.mem0.urls")),
    path("mem0/<str:project>/", include("mcp_server.mem0.urls")),
]
