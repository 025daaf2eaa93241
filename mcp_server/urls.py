from __future__ import annotations

from django.urls import path

from mcp_server.hooks.views import HookStatusView, HookView

urlpatterns = [
    path("hooks/status", HookStatusView.as_view()),
    path("hooks/<str:harness>", HookView.as_view()),
]
