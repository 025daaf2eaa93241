from __future__ import annotations

from django.urls import path

from playbook import views

urlpatterns = [
    path("playbook", views.PlaybookDoor.as_view()),
    path("playbook/render", views.RenderDoor.as_view()),
    path("playbook/changes", views.ChangesDoor.as_view()),
    path("playbook/entries", views.EntriesDoor.as_view()),
    path("playbook/entries/<uuid:entry_id>", views.EntryDoor.as_view()),
    path("playbook/entries/<uuid:entry_id>/history", views.EntryHistoryDoor.as_view()),
    path("playbook/deltas", views.DeltasDoor.as_view()),
    path("playbook/deltas/bulk", views.BulkDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>", views.DeltaDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/accept", views.AcceptDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/edit", views.EditDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/reject", views.RejectDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/undo", views.UndoDoor.as_view()),
]
