"""The sidebar and the first page of the admin: named in settings.UNFOLD."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from ace.models import AceRun
from common import panels
from common.admin import caller_of, counted, in_words
from common.caller import Caller, Role
from common.panels import Panel, link, moment, words
from jobs.models import Job
from memories.models import Memory, PossibleDuplicate
from memory_project import health
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry

# Title, then (label, icon, model, query string) for each page.
Page = tuple[str, str, str, str]
GROUPS: list[tuple[str, list[Page]]] = [
    (
        "Knowledge",
        [
            ("Memories", "neurology", "memories.memory", ""),
            ("Files", "folder_open", "memories.file", ""),
            ("Tags", "sell", "memories.tag", ""),
            ("Digests", "summarize", "context.digestconfig", ""),
            (
                "Possible duplicates",
                "content_copy",
                "memories.possibleduplicate",
                "state=open",
            ),
        ],
    ),
    (
        "Playbook",
        [
            ("Entries", "menu_book", "playbook.playbookentry", "status=active"),
            ("Waiting changes", "rule", "playbook.playbookdelta", "status=pending"),
            ("Conflicts", "call_split", "playbook.conflict", "state=open"),
            ("History", "history", "playbook.playbookchange", ""),
            ("Playbooks", "book", "playbook.playbook", ""),
        ],
    ),
    (
        "Learning",
        [
            ("Runs", "play_circle", "ace.acerun", ""),
            ("Reflections", "psychology", "ace.reflection", ""),
            ("Model calls", "smart_toy", "inference.modelcall", ""),
        ],
    ),
    (
        "Work",
        [
            ("Jobs", "task", "jobs.job", ""),
            ("Heartbeats", "ecg_heart", "jobs.heartbeat", ""),
            ("Embedding model", "hub", "inference.activemodel", ""),
        ],
    ),
    (
        "Access",
        [
            ("Projects", "workspaces", "projects.project", ""),
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
            ("Groups", "groups", "auth.group", ""),
            ("Organizations", "domain", "projects.organization", ""),
            ("Locked sign-ins", "lock", "axes.accessattempt", ""),
            ("Sign-ins", "login", "axes.accesslog", ""),
            ("Failed sign-ins", "gpp_bad", "axes.accessfailurelog", ""),
        ],
    ),
    (
        "Tables",
        [
            ("Memory changes", "edit_note", "memories.memorychange", ""),
            ("File links", "link", "memories.memoryfile", ""),
            ("Memory vectors", "scatter_plot", "memories.memoryvector", ""),
            ("Supports", "handshake", "playbook.support", ""),
            ("Exposures", "visibility", "playbook.exposure", ""),
            ("Entry vectors", "scatter_plot", "playbook.entryvector", ""),
            ("Corpora", "dataset", "search.corpus", ""),
            ("Lexemes", "abc", "search.lexemestat", ""),
            ("Idempotency keys", "repeat_one", "access.idempotencykey", ""),
        ],
    ),
]
# Folded until one of their pages is open.
FOLDED = {"Installation", "Tables"}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    waiting = in_words(counted(_pending(caller_of(request))))
    badges = {"playbook.playbookdelta": "" if waiting == "0" else waiting}
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [home]}]
    for title, pages in GROUPS:
        items = [
            {
                "title": label,
                "icon": icon,
                "link": address(model, where),
                "active": request.path.startswith(address(model)),
                "badge": badges.get(model, ""),
                "badge_variant": "warning",
            }
            for label, icon, model, where in pages
            if may_see(request, model)
        ]
        groups.append({"title": title, "collapsible": title in FOLDED, "items": items})
    return groups


def may_see(request: HttpRequest, model: str) -> bool:
    registered = admin.site._registry.get(apps.get_model(model))
    return registered is not None and registered.has_module_permission(request)


def address(model: str, where: str = "") -> str:
    url = reverse(f"admin:{model.replace('.', '_')}_changelist")
    return f"{url}?{where}" if where else url


def environment(request: HttpRequest) -> list[str]:
    """The badge beside the person's name: what this installation is."""
    if settings.DEBUG:
        return ["Development", "warning"]
    return [f"Version {settings.VERSION}", "info"]


def home(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What a person should look at first, in the projects that they may see."""
    caller = caller_of(request)
    context["title"] = "Home"
    context["cards"] = _cards(caller)
    context["panels"] = [_pending_panel(caller), _runs_panel(caller)]
    failed = _failed(caller)
    if failed.exists():
        context["panels"].append(_failed_panel(failed))
    if caller.everywhere == Role.OWNER:
        context["panels"].append(_health_panel())
    return context


def _cards(caller: Caller) -> list[dict[str, Any]]:
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    duplicates = PossibleDuplicate.objects.visible_to(caller).filter(state="open")
    day = f"{timezone.localdate():%Y-%m-%d}"
    figures = [
        (
            "Memories",
            Memory.objects.visible_to(caller).current(),
            "memories.memory",
            "state=current",
        ),
        (
            "Runs today",
            AceRun.objects.visible_to(caller).filter(created_at__gte=today),
            "ace.acerun",
            f"created_at_from={day}",
        ),
        (
            "Playbook entries",
            PlaybookEntry.objects.visible_to(caller).current(),
            "playbook.playbookentry",
            "status=active",
        ),
        (
            "Waiting changes",
            _pending(caller),
            "playbook.playbookdelta",
            "status=pending",
        ),
        (
            "Open conflicts",
            Conflict.objects.visible_to(caller).filter(state="open"),
            "playbook.conflict",
            "state=open",
        ),
        (
            "Possible duplicates",
            duplicates,
            "memories.possibleduplicate",
            "state=open",
        ),
        ("Failed jobs", _failed(caller), "jobs.job", "state=failed"),
    ]
    return [
        {
            "title": title,
            "count": in_words(counted(rows)),
            "url": address(model, where),
        }
        for title, rows, model, where in figures
    ]


def _pending(caller: Caller) -> Any:
    return PlaybookDelta.objects.visible_to(caller).waiting()


def _failed(caller: Caller) -> Any:
    return Job.objects.visible_to(caller).filter(state=Job.State.FAILED)


def _pending_panel(caller: Caller) -> Panel:
    rows = _pending(caller).select_related("project").order_by("-pk")[:8]
    return panels.table(
        "Waiting changes",
        ["Proposed", "Change", "Text", "Risk", "Project"],
        (
            [
                moment(delta.created_at),
                link("playbook_playbookdelta", delta.pk, delta.operation),
                words(delta.content or delta.reason),
                delta.risk,
                words(delta.project, 40),
            ]
            for delta in rows
        ),
        empty="Nothing waits for a decision.",
    )


def _runs_panel(caller: Caller) -> Panel:
    rows = AceRun.objects.visible_to(caller).select_related("project")[:8]
    return panels.table(
        "Latest runs",
        ["Received", "Goal", "Agent", "State", "Project"],
        (
            [
                moment(run.created_at),
                link("ace_acerun", run.pk, run.request.get("goal") or "(no goal)"),
                words(run.agent_id, 40),
                run.state,
                words(run.project, 40),
            ]
            for run in rows
        ),
        empty="No task has been reported yet.",
    )


def _failed_panel(failed: Any) -> Panel:
    return panels.table(
        "Failed jobs",
        ["Failed", "Kind", "Error"],
        (
            [
                moment(job.finished_at),
                link("jobs_job", job.pk, job.kind),
                words(job.error, 200),
            ]
            for job in failed[:5]
        ),
    )


def _health_panel() -> Panel:
    return panels.table(
        "Health",
        ["Check", "", "What it found"],
        (
            [name.replace("_", " "), "well" if check.ok else "NOT WELL", check.detail]
            for name, check in health.report().checks.items()
        ),
    )
