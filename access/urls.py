from __future__ import annotations

from django.urls import path

from access import views

urlpatterns = [
    path("projects", views.Projects.as_view()),
    path("projects/<uuid:project_id>", views.OneProject.as_view()),
    path("projects/<uuid:project_id>/restore", views.RestoreProject.as_view()),
    path("projects/<uuid:project_id>/settings", views.Settings.as_view()),
    path("projects/<uuid:project_id>/members", views.Members.as_view()),
    path("keys", views.Keys.as_view()),
    path("keys/<uuid:key_id>", views.OneKey.as_view()),
    path("keys/<uuid:key_id>/rotate", views.RotateKey.as_view()),
    path("audit", views.Audit.as_view()),
    path("jobs", views.Jobs.as_view()),
    path("jobs/<uuid:job_id>", views.OneJob.as_view()),
    path("jobs/<uuid:job_id>/retry", views.RetryJob.as_view()),
    path("jobs/<uuid:job_id>/discard", views.DiscardJob.as_view()),
    path("jobs/<uuid:job_id>/cancel", views.CancelJob.as_view()),
]
