from __future__ import annotations

from django.urls import path

from ace import views

urlpatterns = [
    path("complete-task", views.CompleteTaskDoor.as_view()),
    path("ace/runs", views.RunsDoor.as_view()),
    path("ace/runs/<uuid:run_id>", views.RunDoor.as_view()),
    path("ace/runs/<uuid:run_id>/resume", views.ResumeDoor.as_view()),
]
