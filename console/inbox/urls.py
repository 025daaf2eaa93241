from __future__ import annotations

from console.inbox import deciding, settling, views
from console.pages import page

urlpatterns = [
    page("", views.Inbox, "inbox"),
    page("undo/", deciding.Undo, "inbox_undo"),
    page("bulk/", deciding.Bulk, "inbox_bulk"),
    page("conflicts/<uuid:pk>/<slug:name>/", settling.Resolve, "inbox_resolve"),
    page("duplicates/<uuid:pk>/<slug:name>/", settling.Settle, "inbox_settle"),
    page("memories/<uuid:pk>/", settling.Marked, "inbox_marked"),
    page("<uuid:pk>/", views.OneCard, "inbox_card"),
    page("<uuid:pk>/nearby/", views.Nearby, "inbox_nearby"),
    page("<uuid:pk>/quotes/<int:number>/", views.Quote, "inbox_quote"),
    page("<uuid:pk>/<slug:name>/", deciding.Decide, "inbox_decide"),
]
