from __future__ import annotations

from django.urls import path

from memories import views

urlpatterns = [
    path("memories", views.MemoriesDoor.as_view()),
    path("memories/batch", views.MemoryBatchDoor.as_view()),
    path("memories/delete-by-scope", views.DeleteByScopeDoor.as_view()),
    path("memories/<uuid:memory_id>", views.MemoryDoor.as_view()),
    path("memories/<uuid:memory_id>/restore", views.RestoreDoor.as_view()),
    path("memories/<uuid:memory_id>/history", views.HistoryDoor.as_view()),
    path("memories/<uuid:memory_id>/verify", views.VerifyDoor.as_view()),
    path("memories/<uuid:memory_id>/supersede", views.SupersedeDoor.as_view()),
    path(
        "memories/<uuid:memory_id>/unmark-duplicate",
        views.UnmarkDuplicateDoor.as_view(),
    ),
    path("search", views.SearchDoor.as_view()),
    path("possible-duplicates", views.PossibleDuplicatesDoor.as_view()),
    path("possible-duplicates/<uuid:pair_id>/merge", views.MergePairDoor.as_view()),
    path("possible-duplicates/<uuid:pair_id>/keep", views.KeepPairDoor.as_view()),
    path("files", views.FilesDoor.as_view()),
    path("files/rename", views.RenameFileDoor.as_view()),
    path("files/sync", views.SyncFilesDoor.as_view()),
    path("tags", views.TagsDoor.as_view()),
    path("tags/<uuid:tag_id>", views.TagDoor.as_view()),
    path("tags/<uuid:tag_id>/merge", views.MergeTagDoor.as_view()),
    path("deduplications", views.DeduplicationsDoor.as_view()),
    path("deduplications/<uuid:job_id>", views.DeduplicationDoor.as_view()),
]
