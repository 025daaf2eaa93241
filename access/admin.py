from __future__ import annotations

from datetime import datetime
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelectMultipleWidget, UnfoldAdminSelectWidget

from access import keys, operations
from access.models import ApiKey, IdempotencyKey
from audit import admin as audit_admin
from audit.recording import record
from common import panels
from common.admin import GlobalAdmin, RowsAdmin, caller_of
from common.caller import Caller, Role
from common.deeds import Deed
from common.door_forms import DoorForm
from common.list_filters import ChoiceFilter, ProjectFilter, chosen, exactly
from common.panels import Panel, labelled, moment, words
from jobs.admin import JobAdmin
from jobs.models import Job
from projects.models import Project


class StandingFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"
    options = (("usable", "usable"), ("ended", "expired or revoked"))

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        usable = ApiKey.objects.visible_to(caller_of(request)).usable()
        if self.value() == "usable":
            return queryset.filter(pk__in=usable.values("pk"))
        if self.value() == "ended":
            return queryset.exclude(pk__in=usable.values("pk"))
        return queryset


class KeyForm(DoorForm):
    """A new key; its secret is told once, after saving."""

    role = forms.TypedChoiceField(
        choices=Role.choices,
        coerce=int,
        initial=Role.WRITER,
        widget=UnfoldAdminSelectWidget,
    )
    projects = forms.ModelMultipleChoiceField(
        queryset=Project.objects.none(),
        required=False,
        widget=UnfoldAdminSelectMultipleWidget,
        help_text="None: a key for every project, which only a superuser can make.",
    )

    class Meta:
        model = ApiKey
        fields = ["name", "role", "projects", "agent_id", "user_id", "expires_at"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        seen = Project.objects.visible_to(self.caller)
        if self.caller.everywhere != Role.OWNER:
            owned = [pk for pk, role in self.caller.roles.items() if role == Role.OWNER]
            seen = seen.filter(pk__in=owned)
        if "projects" in self.fields:
            self.fields["projects"].queryset = seen  # type: ignore[attr-defined]  # a model choice

    def apply(self) -> ApiKey:
        data = self.cleaned_data
        expires_at: datetime | None = data["expires_at"]
        issued = keys.issue(
            name=data["name"],
            role=Role(data["role"]),
            projects=data["projects"],
            agent_id=data["agent_id"],
            user_id=data["user_id"],
            expires_at=expires_at,
            caller=self.caller,
        )
        self.secret = issued.secret
        return issued.key


@admin.register(ApiKey)
class ApiKeyAdmin(RowsAdmin):
    form = KeyForm
    sees = adds = Role.OWNER
    list_display = [
        "name_shown",
        "prefix",
        "role_shown",
        "reach",
        "standing",
        "expires_shown",
        "used_shown",
    ]
    list_filter = [StandingFilter, chosen("role", Role.choices), exactly("agent_id")]
    search_fields = ["prefix", "name", "id", "agent_id", "user_id"]
    search_help_text = "Prefix, name, agent or user id"
    fieldsets = [
        (None, {"fields": ["name_shown", "prefix", "role_shown", "reach", "standing"]}),
        ("Bound to", {"fields": ["agent_id", "user_id"]}),
        (
            "Life",
            {
                "fields": [
                    "created_by",
                    "created_at",
                    "expires_shown",
                    "revoked_at",
                    "used_shown",
                    "replaced_by",
                ]
            },
        ),
    ]
    add_fieldsets = [
        (None, {"fields": ["name", "role", "projects"]}),
        ("Bound to", {"fields": ["agent_id", "user_id", "expires_at"]}),
    ]
    deeds = [
        Deed(
            "revoke",
            "Revoke",
            Role.OWNER,
            lambda key, caller, text: keys.revoke(key, caller=caller),
            "revoked",
            fits=lambda key: key.is_usable,
            is_final=True,
        )
    ]

    name_shown = staticmethod(panels.column("name", words, ordering="name"))
    expires_shown = staticmethod(
        panels.column("expires_at", moment, title="expires", ordering="expires_at")
    )
    used_shown = staticmethod(
        panels.column(
            "last_used_at", moment, title="last used", ordering="last_used_at"
        )
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("projects")

    def may(self, request: HttpRequest, role: Role | None, row: Any = None) -> bool:
        """A visible key is one that the caller controls: `visible_to` asks for owners."""
        return super().may(request, role)

    @admin.display(description="role", ordering="role")
    def role_shown(self, key: ApiKey) -> str:
        return Role(key.role).label

    @admin.display(description="projects")
    def reach(self, key: ApiKey) -> Any:
        if key.everywhere:
            return "every project"
        return words(", ".join(project.name for project in key.projects.all()), 60)

    @labelled("state", {"usable": "success", "ended": "danger"})
    def standing(self, key: ApiKey) -> str:
        return "usable" if key.is_usable else "ended"

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        told = format_html(
            "The secret of {}, shown this once: <code>{}</code>", obj.name, form.secret
        )
        messages.warning(request, told)

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]


@admin.register(IdempotencyKey)
class IdempotencyKeyAdmin(RowsAdmin):
    sees = Role.OWNER
    list_display = ["key_shown", "actor_shown", "route", "project_name", "status", "at"]
    list_filter = [ProjectFilter, exactly("actor"), exactly("status")]
    search_fields = ["key", "actor"]
    search_help_text = "Key or actor"
    fields = [
        "key_shown",
        "actor_shown",
        "route",
        "project_name",
        "body_hash",
        "status",
        "answer_shown",
        "at",
    ]

    key_shown = staticmethod(panels.column("key", words))
    actor_shown = staticmethod(panels.column("actor", words))
    answer_shown = staticmethod(panels.column("answer", panels.plain_json))
    at = staticmethod(panels.column("created_at", moment, title="at", ordering="id"))

    def visible_to(self, caller: Caller) -> Any:
        """Of the projects that the caller owns; a superuser's own ones have none."""
        rows = IdempotencyKey.objects.all()
        if caller.everywhere == Role.OWNER:
            return rows
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        return rows.filter(project_id__in=owned)


@admin.register(Job)
class OperatedJobAdmin(JobAdmin):
    deeds = [
        Deed(
            "retry",
            "Retry",
            Role.CURATOR,
            lambda job, caller, text: operations.act_on(job, "retry", caller),
            "waits again",
            fits=lambda job: job.state == Job.State.FAILED,
        ),
        Deed(
            "discard",
            "Discard",
            Role.CURATOR,
            lambda job, caller, text: operations.act_on(job, "discard", caller),
            "discarded",
            fits=lambda job: job.state == Job.State.FAILED,
            is_final=True,
        ),
        Deed(
            "cancel",
            "Cancel",
            Role.CURATOR,
            lambda job, caller, text: operations.act_on(job, "cancel", caller),
            "cancelled",
            fits=lambda job: job.state in {Job.State.WAITING, Job.State.RUNNING},
            is_final=True,
        ),
    ]

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]


class AuditedAdmin(GlobalAdmin):
    """Accounts have no function of the product: Django saves, and the audit is told."""

    adds = changes = Role.OWNER
    object_type = "account"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, Role.OWNER)

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        obj.save()

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Any, change: bool
    ) -> None:
        form.save_m2m()

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        self._record(request, "created", obj)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        self._record(request, "changed", obj)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        for row in queryset:
            self._record(request, "deleted", row)

    def _record(self, request: HttpRequest, verb: str, row: Any) -> None:
        record(
            caller_of(request),
            f"{self.object_type}.{verb}",
            object_type=self.object_type,
            object_id=row.pk,
            name=str(row),
        )

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request), self.object_type)]


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(AuditedAdmin, DjangoUserAdmin):  # type: ignore[misc, type-arg]  # unfold is untyped
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = [
        "username",
        "email",
        "is_active",
        "is_staff",
        "is_superuser",
        "last",
    ]
    list_filter = [
        chosen("is_active", [(1, "yes"), (0, "no")]),
        chosen("is_staff", [(1, "yes"), (0, "no")]),
        chosen("is_superuser", [(1, "yes"), (0, "no")]),
    ]
    search_fields = ["username", "username__icontains", "email"]
    filter_horizontal = []
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Person", {"fields": ["first_name", "last_name", "email"]}),
        (
            "Rights",
            {
                "fields": ["is_active", "is_staff", "is_superuser"],
                "description": "Staff may enter this admin; what they see and do there "
                "follows their roles in projects.",
            },
        ),
        ("Dates", {"fields": ["last_login", "date_joined"]}),
    ]
    readonly_fields = ["last_login", "date_joined"]

    last = staticmethod(
        panels.column("last_login", moment, title="last login", ordering="last_login")
    )


@admin.register(Group)
class GroupAdmin(AuditedAdmin, DjangoGroupAdmin):  # type: ignore[misc]  # unfold is untyped
    object_type = "group"
    list_display = ["name"]
    search_fields = ["name__icontains"]
    fields = ["name"]


class SignInAdmin(GlobalAdmin):
    """What the login throttle keeps; its rows are written by it alone."""

    list_filter = [
        exactly("username"),
        exactly("ip_address__startswith", "address", name="address"),
    ]
    search_fields = ["username", "ip_address__startswith"]
    search_help_text = "User name or address"

    at = staticmethod(
        panels.column("attempt_time", moment, title="at", ordering="attempt_time")
    )
    agent = staticmethod(
        panels.column("user_agent", lambda text: words(text, 80), title="browser")
    )


@admin.register(AccessAttempt)
class AccessAttemptAdmin(SignInAdmin):
    list_display = ["username", "ip_address", "failures_since_start", "agent", "at"]
    fields = [
        "username",
        "ip_address",
        "failures_since_start",
        "agent",
        "path_info",
        "at",
    ]


@admin.register(AccessLog)
class AccessLogAdmin(SignInAdmin):
    list_display = ["username", "ip_address", "agent", "at", "logout_time"]
    fields = ["username", "ip_address", "agent", "path_info", "at", "logout_time"]


@admin.register(AccessFailureLog)
class AccessFailureLogAdmin(SignInAdmin):
    list_display = ["username", "ip_address", "locked_out", "agent", "at"]
    fields = ["username", "ip_address", "locked_out", "agent", "path_info", "at"]
