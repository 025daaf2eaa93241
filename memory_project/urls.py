from __future__ import annotations

from importlib.util import find_spec

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from memory_project import views

API = ["access", "memories", "playbook", "ace", "context"]

urlpatterns = [
    path("", RedirectView.as_view(url="/admin/")),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", admin.site.urls),
    path("healthz", views.healthz),
    path("readyz", views.readyz),
    path("api/schema", views.Schema.as_view(), name="schema"),
    path("api/docs", views.Docs.as_view()),
    *(
        path("api/v1/", include(f"{app}.urls"))
        for app in API
        if find_spec(f"{app}.urls")
    ),
]
