"""Routes of the REST API of memories."""

from __future__ import annotations

from django.urls import path

from memories.views import (
    compactions,
    derivation,
    duplicates,
    files,
    lifecycle,
    memories,
    missing_vectors,
    purges,
    search,
    tags,
)

urlpatterns = [
    path("memories", memories.MemoriesView.as_view()),
    path("memories/batch", memories.MemoryBatchView.as_view()),
    path("memories/delete-by-scope", lifecycle.DeleteByScopeView.as_view()),
    path("memories/<uuid:memory_id>", memories.MemoryView.as_view()),
    path("memories/<uuid:memory_id>/restore", lifecycle.RestoreMemoryView.as_view()),
    path("memories/<uuid:memory_id>/history", lifecycle.MemoryHistoryView.as_view()),
    path("memories/compact", derivation.CompactMemoriesView.as_view()),
    path("memories/<uuid:memory_id>/promote", derivation.PromoteMemoryView.as_view()),
    path(
        "memories/<uuid:memory_id>/undo-compaction",
        derivation.UndoCompactionView.as_view(),
    ),
    path("memories/<uuid:memory_id>/verify", lifecycle.VerifyMemoryView.as_view()),
    path(
        "memories/<uuid:memory_id>/supersede", lifecycle.SupersedeMemoryView.as_view()
    ),
    path(
        "memories/<uuid:memory_id>/unmark-duplicate",
        duplicates.UnmarkDuplicateView.as_view(),
    ),
    path(
        "projects/<id_or_name:project_id>/indexing",
        missing_vectors.MissingVectorsView.as_view(),
    ),
    path("search", search.SearchView.as_view()),
    path("possible-duplicates", duplicates.PossibleDuplicatesView.as_view()),
    path(
        "possible-duplicates/<uuid:pair_id>/merge", duplicates.MergePairView.as_view()
    ),
    path("possible-duplicates/<uuid:pair_id>/keep", duplicates.KeepPairView.as_view()),
    path("files", files.FilesView.as_view()),
    path("files/rename", files.RenameFileView.as_view()),
    path("files/sync", files.SyncFilesView.as_view()),
    path("tags", tags.TagsView.as_view()),
    path("tags/<uuid:tag_id>", tags.TagView.as_view()),
    path("tags/<uuid:tag_id>/merge", tags.MergeTagView.as_view()),
    path("compactions", compactions.CompactionsView.as_view()),
    path("compactions/plan", compactions.CompactionPlanView.as_view()),
    path("quotas", compactions.QuotasView.as_view()),
    path("purge", purges.PurgeView.as_view()),
    path("purges", purges.PurgesView.as_view()),
    path("purges/<uuid:purge_id>", purges.PurgeReceiptView.as_view()),
    path("purges/<uuid:purge_id>/proof", purges.PurgeProofView.as_view()),
    path("deduplications", duplicates.DeduplicationsView.as_view()),
    path("deduplications/<uuid:job_id>", duplicates.DeduplicationView.as_view()),
]
