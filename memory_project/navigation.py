"""The sidebar of the admin; settings.UNFOLD names its functions."""

from __future__ import annotations

import uuid
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from common.admin.model_admin import caller_of
from common.caller import Role
from console import waiting_count
from console.project_page import shown_project

# (label, icon, model or URL name, query string)
SidebarPage = tuple[str, str, str, str]
PAGE_GROUPS: list[tuple[str, list[SidebarPage]]] = [
    (
        "Knowledge",
        [
            ("Memories", "neurology", "memories.memory", ""),
            ("Search", "search", "console:search", ""),
            ("Files", "folder_open", "console:files", ""),
            ("Tags", "sell", "memories.tag", ""),
        ],
    ),
    (
        "Playbook",
        [
            ("Review", "inbox", "console:inbox", ""),
            ("Entries", "menu_book", "playbook.playbookentry", "status=active"),
            ("Revisions", "manage_history", "console:playbook", ""),
            ("Changes", "history", "playbook.playbookchange", ""),
            ("Proposals", "rule", "playbook.playbookdelta", ""),
        ],
    ),
    (
        "Conversations",
        [
            ("Sessions", "forum", "console:sessions", ""),
            ("Agent memory", "badge", "console:agent_memory", ""),
            ("People", "groups", "console:person", ""),
            ("Agent runs", "smart_toy", "console:agent_runs", ""),
            ("Agent", "tune", "console:agent", ""),
        ],
    ),
    (
        "Learning",
        [
            ("Weekly", "calendar_view_week", "console:weekly", ""),
            ("Insights", "insights", "console:insights", ""),
            ("Runs", "play_circle", "ace.acerun", ""),
            ("Model calls", "smart_toy", "inference.modelcall", ""),
        ],
    ),
    (
        "Work",
        [
            ("Jobs", "task", "jobs.job", ""),
            ("Schedules", "schedule", "console:schedules", ""),
        ],
    ),
    (
        "Access",
        [
            ("Projects", "workspaces", "projects.project", ""),
            ("Connect", "cable", "console:connect", ""),
            ("Members", "group", "projects.membership", ""),
            ("API keys", "key", "access.apikey", ""),
            ("Audit", "policy", "audit.auditevent", ""),
            ("Purges", "delete_forever", "memories.purge", ""),
        ],
    ),
    (
        "Installation",
        [
            ("Accounts", "person", "auth.user", ""),
            ("Organizations", "domain", "projects.organization", ""),
            ("Locked sign-ins", "lock", "axes.accessattempt", ""),
            ("Sign-ins", "login", "axes.accesslog", ""),
        ],
    ),
]
# Pages of the whole installation, for people who own all of it.
OWNER_PAGES = {"console:schedules"}
# This group is collapsed until one of its pages is open.
COLLAPSED_GROUP = "Installation"


# These lists open on the project that the console shows; the list leads to all projects.
OF_SHOWN_PROJECT = {
    "memories.memory",
    "playbook.playbookentry",
    "playbook.playbookdelta",
    "ace.acerun",
}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    badge = waiting_count.make_badge(caller_of(request), shown_project(request))
    badges = {"console:inbox": badge}
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [home]}]
    project = _project_filter(request)
    for title, pages in PAGE_GROUPS:
        items = [
            {
                "title": label,
                "icon": icon,
                "link": page_url(
                    model, where, project if model in OF_SHOWN_PROJECT else ""
                ),
                "active": request.path.startswith(page_url(model)),
                "badge": badges.get(model, ""),
                "badge_variant": "warning",
            }
            for label, icon, model, where in pages
            if may_see(request, model)
        ]
        groups.append(
            {"title": title, "collapsible": title == COLLAPSED_GROUP, "items": items}
        )
    return groups


def may_see(request: HttpRequest, model: str) -> bool:
    if ":" in model:  # a URL name: the view itself decides who may see it
        return model not in OWNER_PAGES or caller_of(request).everywhere == Role.OWNER
    registered = admin.site._registry.get(apps.get_model(model))
    return registered is not None and registered.has_module_permission(request)


def _project_filter(request: HttpRequest) -> str:
    """Return the part of a query string that filters by the project that is shown, if any."""
    shown = shown_project(request)
    may_see = shown and caller_of(request).may(Role.VIEWER, uuid.UUID(shown))
    return f"project={shown}" if may_see else ""


def page_url(model: str, *filters: str) -> str:
    name = f"admin:{model.replace('.', '_')}_changelist"
    url = reverse(model if ":" in model else name)
    query = "&".join(filter(None, filters))
    return f"{url}?{query}" if query else url


def environment(request: HttpRequest) -> list[str]:
    """Return the badge beside the person's name: the version, or a note of debug mode."""
    if settings.DEBUG:
        return ["Development", "warning"]
    return [f"Version {settings.VERSION}", "info"]
