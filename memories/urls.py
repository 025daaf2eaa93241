from __future__ import annotations

from django.urls import path

from memories.views import (
    compactions,
    derivation,
    duplicates,
    files,
    memories,
    purges,
    search,
    tags,
)

urlpatterns = [
    path("memories", memories.MemoriesDoor.as_view()),
    path("memories/batch", memories.MemoryBatchDoor.as_view()),
    path("memories/delete-by-scope", memories.DeleteByScopeDoor.as_view()),
    path("memories/<uuid:memory_id>", memories.MemoryDoor.as_view()),
    path("memories/<uuid:memory_id>/restore", memories.RestoreDoor.as_view()),
    path("memories/<uuid:memory_id>/history", memories.HistoryDoor.as_view()),
    path("memories/compact", derivation.CompactDoor.as_view()),
    path("memories/<uuid:memory_id>/promote", derivation.PromoteDoor.as_view()),
    path(
        "memories/<uuid:memory_id>/undo-compaction",
        derivation.UndoCompactionDoor.as_view(),
    ),
    path("memories/<uuid:memory_id>/verify", memories.VerifyDoor.as_view()),
    path("memories/<uuid:memory_id>/supersede", memories.SupersedeDoor.as_view()),
    path(
        "memories/<uuid:memory_id>/unmark-duplicate",
        duplicates.UnmarkDuplicateDoor.as_view(),
    ),
    path("search", search.SearchDoor.as_view()),
    path("possible-duplicates", duplicates.PossibleDuplicatesDoor.as_view()),
    path(
        "possible-duplicates/<uuid:pair_id>/merge", duplicates.MergePairDoor.as_view()
    ),
    path("possible-duplicates/<uuid:pair_id>/keep", duplicates.KeepPairDoor.as_view()),
    path("files", files.FilesDoor.as_view()),
    path("files/rename", files.RenameFileDoor.as_view()),
    path("files/sync", files.SyncFilesDoor.as_view()),
    path("tags", tags.TagsDoor.as_view()),
    path("tags/<uuid:tag_id>", tags.TagDoor.as_view()),
    path("tags/<uuid:tag_id>/merge", tags.MergeTagDoor.as_view()),
    path("compactions", compactions.CompactionsDoor.as_view()),
    path("compactions/plan", compactions.CompactionPlanDoor.as_view()),
    path("quotas", compactions.QuotasDoor.as_view()),
    path("purge", purges.PurgeDoor.as_view()),
    path("purges", purges.PurgesDoor.as_view()),
    path("purges/<uuid:purge_id>", purges.ReceiptDoor.as_view()),
    path("purges/<uuid:purge_id>/proof", purges.ProofDoor.as_view()),
    path("deduplications", duplicates.DeduplicationsDoor.as_view()),
    path("deduplications/<uuid:job_id>", duplicates.DeduplicationDoor.as_view()),
]
