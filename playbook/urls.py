from __future__ import annotations

from django.urls import path

from playbook.views import (
    conflicts,
    decisions,
    deltas,
    entries,
    exchange,
    history,
    rendering,
)

urlpatterns = [
    path("playbook", entries.PlaybookDoor.as_view()),
    path("playbook/render", rendering.RenderDoor.as_view()),
    path("playbook/export", exchange.ExportDoor.as_view()),
    path("playbook/import", exchange.ImportDoor.as_view()),
    path("playbook/changes", history.ChangesDoor.as_view()),
    path("playbook/diff", history.DiffDoor.as_view()),
    path("playbook/revert", history.RevertDoor.as_view()),
    path("playbook/entries", entries.EntriesDoor.as_view()),
    path("playbook/entries/<uuid:entry_id>", entries.EntryDoor.as_view()),
    path(
        "playbook/entries/<uuid:entry_id>/history", history.EntryHistoryDoor.as_view()
    ),
    path("playbook/entries/<uuid:entry_id>/verify", entries.VerifyEntryDoor.as_view()),
    path("playbook/entries/<uuid:entry_id>/blame", history.EntryBlameDoor.as_view()),
    path("playbook/conflicts", conflicts.ConflictsDoor.as_view()),
    path("playbook/conflicts/<uuid:conflict_id>", conflicts.ConflictDoor.as_view()),
    path(
        "playbook/conflicts/<uuid:conflict_id>/supersede",
        conflicts.SupersedeDoor.as_view(),
    ),
    path("playbook/conflicts/<uuid:conflict_id>/split", conflicts.SplitDoor.as_view()),
    path(
        "playbook/conflicts/<uuid:conflict_id>/reject", conflicts.RejectDoor.as_view()
    ),
    path(
        "playbook/conflicts/<uuid:conflict_id>/reopen", conflicts.ReopenDoor.as_view()
    ),
    path("playbook/deltas", deltas.DeltasDoor.as_view()),
    path("playbook/deltas/bulk", deltas.BulkDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>", deltas.DeltaDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/accept", decisions.AcceptDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/edit", decisions.EditDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/merge", decisions.MergeDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/rebase", decisions.RebaseDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/reject", decisions.RejectDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/undo", decisions.UndoDoor.as_view()),
    path("playbook/deltas/<uuid:delta_id>/reopen", decisions.ReopenDoor.as_view()),
]
