from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin
from unfold.decorators import display

from common import panels
from common.admin import GlobalAdmin, RowsAdmin
from common.caller import Caller, Role
from common.list_filters import ProjectFilter, chosen
from common.panels import moment, words
from projects.models import Membership, Organization, Project


@admin.register(Organization)
class OrganizationAdmin(GlobalAdmin):
    list_display = ["slug", "name_shown", "created_shown"]
    search_fields = ["slug", "name"]
    fields = ["slug", "name_shown", "id", "created_shown"]

    name_shown = staticmethod(panels.column("name", words, ordering="name"))
    created_shown = staticmethod(
        panels.column("created_at", moment, title="created", ordering="created_at")
    )


@admin.register(Project)
class ProjectAdmin(RowsAdmin):
    project_path = "pk"
    list_display = [
        "name_shown",
        "organization",
        "about_shown",
        "policy",
        "current_branch",
        "standing",
        "created_shown",
    ]
    list_select_related = ["organization"]
    search_fields = ["name", "name__icontains", "id"]
    search_help_text = "Name or id"
    fieldsets = [
        (None, {"fields": ["name_shown", "description_shown", "standing"]}),
        (
            "Code",
            {"fields": ["repository_url", "current_branch"]},
        ),
        ("Settings", {"fields": ["options_shown"]}),
        (
            "Record",
            {"fields": ["id", "organization", "created_shown", "updated_at", "version"]},
        ),
    ]

    name_shown = staticmethod(panels.column("name", words, ordering="name"))
    about_shown = staticmethod(
        panels.column("description", lambda text: words(text, 80), title="about")
    )
    description_shown = staticmethod(
        panels.column("description", panels.block, title="description")
    )
    created_shown = staticmethod(
        panels.column("created_at", moment, title="created", ordering="created_at")
    )

    def visible_to(self, caller: Caller) -> Any:
        """With the deleted ones that the caller may restore."""
        live = Project.objects.visible_to(caller)
        return live | Project.objects.deleted_for(caller)

    def project_of(self, row: Any) -> uuid.UUID | None:
        found: uuid.UUID = row.pk
        return found

    @admin.display(description="policy")
    def policy(self, project: Project) -> str:
        return str(project.settings.get("policy", "assisted"))

    @display(description="state", label={"live": "success", "deleted": "danger"})
    def standing(self, project: Project) -> str:
        return "deleted" if project.delete_after else "live"

    @admin.display(description="settings, defaults filled in")
    def options_shown(self, project: Project) -> Any:
        return panels.plain_json(project.options.model_dump())


@admin.register(Membership)
class MembershipAdmin(RowsAdmin):
    sees = Role.OWNER
    list_display = ["account", "project_name", "role_shown", "created_shown"]
    list_select_related = ["account"]
    list_filter = [ProjectFilter, chosen("role", Role.choices)]
    search_fields = ["account__username", "project__name"]
    search_help_text = "User name or project"
    fields = ["account", "project_name", "role_shown", "created_shown"]

    created_shown = staticmethod(
        panels.column("created_at", moment, title="since", ordering="created_at")
    )

    def visible_to(self, caller: Caller) -> Any:
        """The members of projects that the caller owns."""
        rows = Membership.objects.filter(
            project__in=Project.objects.visible_to(caller)
        )
        if caller.everywhere == Role.OWNER:
            return rows
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        return rows.filter(project__in=owned)

    @admin.display(description="role", ordering="role")
    def role_shown(self, membership: Membership) -> str:
        return Role(membership.role).label
