from __future__ import annotations

from django.urls import path

from context import views
from context.digest.views import DigestConfigView

urlpatterns = [
    path("files/graph", views.FileGraphView.as_view()),
    path("context", views.ContextView.as_view()),
    path("context/digest-config", DigestConfigView.as_view()),
]
