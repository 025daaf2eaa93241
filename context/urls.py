from __future__ import annotations

from django.urls import path

from context import views
from context.digest.views import DigestConfigDoor, DigestDoor

urlpatterns = [
    path("files/graph", views.FileGraphDoor.as_view()),
    path("context/digest", DigestDoor.as_view()),
    path("context/digest-config", DigestConfigDoor.as_view()),
    path("context/task", views.TaskContextDoor.as_view()),
]
