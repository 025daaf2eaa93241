from __future__ import annotations

from console.inbox import decision_views, duplicate_views, views
from console.project_page import staff_route

urlpatterns = [
    staff_route("", views.InboxListPage, "inbox"),
    staff_route("undo/", decision_views.UndoView, "inbox_undo"),
    staff_route("bulk/", decision_views.BulkView, "inbox_bulk"),
    staff_route(
        "duplicates/<uuid:pk>/<slug:name>/",
        duplicate_views.DecideDuplicateView,
        "inbox_settle",
    ),
    staff_route("scan/", duplicate_views.StartScanView, "inbox_scan"),
    staff_route(
        "memories/<uuid:pk>/", duplicate_views.MarkedDuplicatePage, "inbox_marked"
    ),
    staff_route("<uuid:pk>/", views.CardPage, "inbox_card"),
    staff_route("<uuid:pk>/nearby/", views.NearbyPart, "inbox_nearby"),
    staff_route("<uuid:pk>/quotes/<int:number>/", views.QuotePart, "inbox_quote"),
    staff_route("<uuid:pk>/<slug:name>/", decision_views.DecideView, "inbox_decide"),
]
