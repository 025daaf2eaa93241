from __future__ import annotations

from django.urls import path

from playbook.views import (
    decisions,
    deltas,
    entries,
    exchange,
    history,
    render,
)

urlpatterns = [
    path("playbook", entries.PlaybookView.as_view()),
    path("playbook/render", render.RenderPlaybookView.as_view()),
    path("playbook/export", exchange.ExportPlaybookView.as_view()),
    path("playbook/import", exchange.ImportPlaybookView.as_view()),
    path("playbook/changes", history.PlaybookChangesView.as_view()),
    path("playbook/diff", history.PlaybookDiffView.as_view()),
    path("playbook/revert", history.RevertPlaybookView.as_view()),
    path("playbook/rules", entries.EntriesView.as_view()),
    path("playbook/rules/<uuid:entry_id>", entries.EntryView.as_view()),
    path("playbook/rules/<uuid:entry_id>/history", history.EntryHistoryView.as_view()),
    path("playbook/rules/<uuid:entry_id>/verify", entries.VerifyEntryView.as_view()),
    path("proposals", deltas.DeltasView.as_view()),
    path("proposals/bulk", deltas.BulkDeltasView.as_view()),
    path("proposals/<uuid:delta_id>", deltas.DeltaView.as_view()),
    path("proposals/<uuid:delta_id>/accept", decisions.AcceptDeltaView.as_view()),
    path("proposals/<uuid:delta_id>/edit", decisions.EditDeltaView.as_view()),
    path("proposals/<uuid:delta_id>/merge", decisions.MergeDeltaView.as_view()),
    path("proposals/<uuid:delta_id>/reject", decisions.RejectDeltaView.as_view()),
    path("proposals/<uuid:delta_id>/undo", decisions.UndoDeltaView.as_view()),
]
