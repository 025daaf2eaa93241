from __future__ import annotations

from django.urls import path

from access.views import audit, jobs, keys, projects

urlpatterns = [
    path("projects", projects.ProjectListView.as_view()),
    path(
        "projects/<id_or_name:project_id>/restore",
        projects.RestoreProjectView.as_view(),
    ),
    path(
        "projects/<id_or_name:project_id>/settings",
        projects.ProjectSettingsView.as_view(),
    ),
    path(
        "projects/<id_or_name:project_id>/members",
        projects.ProjectMembersView.as_view(),
    ),
    # A name may have slashes, so this route comes after those that are longer.
    path("projects/<id_or_name:project_id>", projects.ProjectDetailView.as_view()),
    path("keys", keys.KeyListView.as_view()),
    path("keys/<uuid:key_id>", keys.KeyDetailView.as_view()),
    path("keys/<uuid:key_id>/rotate", keys.RotateKeyView.as_view()),
    path("audit", audit.AuditListView.as_view()),
    path("jobs", jobs.JobListView.as_view()),
    path("jobs/<uuid:job_id>", jobs.JobDetailView.as_view()),
    path("jobs/<uuid:job_id>/retry", jobs.RetryJobView.as_view()),
    path("jobs/<uuid:job_id>/discard", jobs.DiscardJobView.as_view()),
    path("jobs/<uuid:job_id>/cancel", jobs.CancelJobView.as_view()),
]
