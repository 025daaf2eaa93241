from __future__ import annotations

from django.urls import path

from ace import reflection_views, views

urlpatterns = [
    path("complete-task", views.CompleteTaskView.as_view()),
    path("runs", views.AceRunsView.as_view()),
    path("runs/<uuid:run_id>", views.AceRunView.as_view()),
    path("runs/<uuid:run_id>/resume", views.ResumeRunView.as_view()),
    path("reflections/next", reflection_views.NextReflectionView.as_view()),
    path("reflections/<uuid:reflection_id>", reflection_views.ReflectionView.as_view()),
]
