"""Routes of the REST API of the agent."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
