from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from console.files.views import FilePage, Files
from console.home.views import Home
from console.jobs.views import SchedulesPage
from console.pages import page
from console.playbook import views as playbook
from console.search.views import Search
from console.weekly.views import Weekly

app_name = "console"

urlpatterns: list[URLPattern | URLResolver] = [
    page("", Home, "home"),
    page("weekly/", Weekly, "weekly"),
    path("inbox/", include("console.inbox.urls")),
    page("search-memories/", Search, "search"),
    page("files/", Files, "files"),
    page("files/graph/", FilePage, "file"),
    page("schedules/", SchedulesPage, "schedules"),
    page("revisions/", playbook.PlaybookPage, "playbook"),
    page("revisions/place/<uuid:entry_id>/", playbook.PlaceDoor, "playbook_place"),
]
