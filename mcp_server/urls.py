from __future__ import annotations

from django.urls import path

from mcp_server import views
from mcp_server.hooks.views import HookStatusView, HookView

urlpatterns = [
    path("hooks/status", HookStatusView.as_view()),
    path("hooks/<str:harness>", HookView.as_view()),
    path("mcp", views.serve),
    path("mcp/<id_or_name:project>", views.serve),
]
