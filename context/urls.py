from __future__ import annotations

from django.urls import path

from context import views
from context.card.views import CardView
from context.digest.views import DigestConfigView, DigestView

urlpatterns = [
    path("files/graph", views.FileGraphView.as_view()),
    path("context/card", CardView.as_view()),
    path("context/digest", DigestView.as_view()),
    path("context/digest-config", DigestConfigView.as_view()),
    path("context/task", views.TaskContextView.as_view()),
]
