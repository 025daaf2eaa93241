from __future__ import annotations

from django.urls import path

from context import views

urlpatterns = [
    path("files/graph", views.FileGraphDoor.as_view()),
    path("context/task", views.TaskContextDoor.as_view()),
]
