from __future__ import annotations

from django.urls import path

from playbook.views import deltas, entries, history, rendering

urlpatterns = [
    path("playbook", entries.PlaybookDoor.as_view()),
    path("playbook/render", rendering.RenderDoor.as_view()),
    path("playbook/changes", history.ChangesDoor.as_view()),
    path("playbook/entries", entries.EntriesDoor.as_view()),
    path("playbook/entries/<uuid:entry_id>", entries.EntryDoor.as_view()),
    path(
        "playbook/entries/<uuid:entry_id>/history", history.EntryHistoryDoor.as_view()
    ),
    path("playbook/deltas", deltas.DeltasDoor.as_view()),
    path("playbook/deltas/bulk", deltas.BulkDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>", deltas.DeltaDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/accept", deltas.AcceptDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/edit", deltas.EditDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/reject", deltas.RejectDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/undo", deltas.UndoDoor.as_view()),
]
