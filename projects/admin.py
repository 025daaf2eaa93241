from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from audit.admin import AuditedAdmin, history_panel
from common.admin import panels
from common.admin.filters import ProjectFilter, choice_filter
from common.admin.model_admin import AdminAction, GlobalAdmin, RowsAdmin, caller_of
from common.admin.panels import Panel, format_time, label_column, short_text
from common.caller import Caller, Role
from projects import lifecycle, members
from projects.forms import MemberForm, ProjectForm, owned_projects
from projects.models import Membership, Organization, Project


@admin.register(Organization)
class OrganizationAdmin(GlobalAdmin):
    list_display = ["slug", "name_display", "created_display"]
    search_fields = ["slug", "name"]
    fields = ["slug", "name_display", "id", "created_display"]

    name_display = panels.column("name", short_text, ordering="name")
    created_display = panels.column(
        "created_at", format_time, title="created", ordering="created_at"
    )


@admin.register(Project)
class ProjectAdmin(AuditedAdmin):
    form = ProjectForm
    project_path = "pk"
    change_role = Role.OWNER
    list_display = [
        "name_display",
        "organization",
        "about_display",
        "policy",
        "current_branch",
        "status_display",
        "created_display",
    ]
    list_select_related = ["organization"]
    search_fields = ["name", "name__icontains", "id"]
    search_help_text = "Name or id"
    readonly_fields = [
        "name_display",
        "description_display",
        "options_display",
        "shown_options_display",
        "status_display",
        "id",
        "organization",
        "organization_display",
        "created_display",
        "updated_at",
    ]
    row_actions = [
        AdminAction(
            "delete",
            "Delete",
            Role.OWNER,
            lambda project, caller, text: lifecycle.delete(project, caller),
            "deleted; it can be restored until its grace period ends",
            is_possible=lambda project, caller: project.delete_after is None,
            is_final=True,
        ),
        AdminAction(
            "restore",
            "Restore",
            Role.OWNER,
            lambda project, caller, text: lifecycle.restore(project, caller),
            "restored",
            is_possible=lambda project, caller: (
                bool(project.delete_after) and not project.is_past_grace
            ),
        ),
    ]

    name_display = panels.column(
        "name", lambda name: short_text(name, 60), ordering="name"
    )
    about_display = panels.column(
        "description", lambda text: short_text(text, 80), title="about"
    )
    description_display = panels.column("description", panels.text_block)
    organization_display = panels.column("organization", short_text)
    created_display = panels.column(
        "created_at", format_time, title="created", ordering="created_at"
    )

    def visible_to(self, caller: Caller) -> Any:
        """Return the caller's live projects, and deleted projects that the caller owns."""
        live = Project.objects.visible_to(caller)
        return live | Project.objects.deleted_for(caller)

    def project_of(self, row: Any) -> uuid.UUID | None:
        pk: uuid.UUID = row.pk
        return pk

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Allow any account, because a person who creates a project owns the project."""
        return caller_of(request).account_id is not None

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is None:
            return self.has_add_permission(request)
        return super().has_view_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        code = ["repository_url", "current_branch"]
        if obj is None:
            texts = ["name", "description"]
            return [(None, {"fields": [*texts, *code, "settings"]})]
        edits = self.has_change_permission(request, obj)
        texts = (
            ["name", "description"]
            if edits
            else ["name_display", "description_display"]
        )
        settings = (
            ["settings", "version", "options_display"]
            if edits
            else ["shown_options_display"]
        )
        # Django links the field to its page, which only owners of everything may see.
        is_global_owner = caller_of(request).everywhere == Role.OWNER
        organization = "organization" if is_global_owner else "organization_display"
        return [
            (None, {"fields": [*texts, "status_display"]}),
            ("Code", {"fields": code}),
            ("Settings", {"fields": settings}),
            (
                "Record",
                {
                    "fields": ["id", organization, "created_display", "updated_at"],
                    "classes": ["tab"],
                },
            ),
        ]

    @admin.display(description="policy")
    def policy(self, project: Project) -> str:
        return str(project.settings.get("policy", "assisted"))

    @label_column("state", {"live": "success", "deleted": "danger"})
    def status_display(self, project: Project) -> str:
        return "deleted" if project.delete_after else "live"

    @admin.display(description="settings, defaults filled in")
    def options_display(self, project: Project) -> Any:
        return panels.json_block(project.options.model_dump())

    @admin.display(description="settings, defaults filled in")
    def shown_options_display(self, project: Project) -> Any:
        return panels.json_block(project.options.model_dump(mode="json"))

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        if row.delete_after:
            return []
        url = f"{reverse('console:connect')}?project={row.pk}"
        return [{"label": "Connect a coding agent", "url": url}]


@admin.register(Membership)
class MembershipAdmin(RowsAdmin):
    list_title = "Members"
    form = MemberForm
    view_role = add_role = change_role = Role.OWNER
    list_display = ["account", "project_name", "role_display", "created_display"]
    list_select_related = ["account"]
    list_filter = [ProjectFilter, choice_filter("role", Role.choices)]
    search_fields = ["account__username", "project__name"]
    search_help_text = "User name or project"
    readonly_fields = ["account", "project_name", "created_display"]
    fieldsets = [
        (
            None,
            {
                "fields": ["account", "project_name", "role", "created_display"],
                "description": "A member enters this admin only with staff status, which "
                "a superuser gives to the account.",
            },
        )
    ]
    add_fieldsets = [
        (
            None,
            {
                "fields": ["project", "username", "role"],
                "description": "The account must exist; a superuser makes accounts, and "
                "gives staff status to those that may enter this admin.",
            },
        )
    ]
    row_actions = [
        AdminAction(
            "remove",
            "Remove from the project",
            Role.OWNER,
            lambda member, caller, text: members.remove(
                member.project, member.account.get_username(), caller
            ),
            "removed",
            is_final=True,
        )
    ]

    created_display = panels.column(
        "created_at", format_time, title="since", ordering="created_at"
    )

    def visible_to(self, caller: Caller) -> Any:
        """Return the members of projects that the caller owns."""
        return Membership.objects.filter(
            project__in=owned_projects(caller)
        ).select_related("account", "project")

    @admin.display(description="role", ordering="role")
    def role_display(self, membership: Membership) -> str:
        return Role(membership.role).label

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [history_panel(row.project_id, caller_of(request))]
