from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectMultipleWidget, UnfoldAdminSelectWidget

from access import keys
from access.models import ApiKey
from audit.admin import AuditedAdmin
from common import errors
from common.admin import panels
from common.admin.action_forms import ActionForm
from common.admin.filters import (
    ChoiceFilter,
    choice_filter,
    exact_filter,
)
from common.admin.model_admin import AdminAction, caller_of
from common.admin.panels import format_time, label_column, short_text
from common.caller import Caller, Role
from common.text.plain_text import clip
from projects.models import Project


class KeyStateFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"
    options = (
        ("usable", "usable"),
        ("ended", "expired, revoked or of an inactive account"),
    )

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        usable = ApiKey.objects.visible_to(caller_of(request)).usable()
        if self.value() == "usable":
            return queryset.filter(pk__in=usable.values("pk"))
        if self.value() == "ended":
            return queryset.exclude(pk__in=usable.values("pk"))
        return queryset


# The choices of how long a rotated key stays usable.
OVERLAPS = {
    "a day": timedelta(days=1),
    "an hour": timedelta(hours=1),
    "a week": timedelta(days=7),
    "no longer": timedelta(0),
}


@dataclass(frozen=True)
class ActionNotes:
    """The result of an action; its notes are displayed as messages."""

    notes: tuple[str, ...]


def _rotate(key: ApiKey, caller: Caller, text: str) -> ActionNotes:
    if text not in OVERLAPS:
        raise errors.Invalid(f"Choose one of {', '.join(OVERLAPS)}.")
    issued = keys.rotate(key, OVERLAPS[text], caller=caller)
    return ActionNotes((_secret_message(issued.key, issued.secret),))


def _secret_message(key: ApiKey, secret: str) -> SafeString:
    """Render the secret with a copy button; `copy.js` shows and handles the button."""
    return format_html(
        'The secret of {}, displayed only once: <code class="am-secret">{}</code> '
        '<button type="button" class="am-button" data-copy hidden>Copy</button>',
        clip(key.name, 80),
        secret,
    )


class KeyForm(ActionForm):
    """The form of a new key; its secret is displayed once, after saving."""

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
        help_text="Without any: a key for every project, which only a superuser can make.",
    )

    class Meta:
        model = ApiKey
        fields = [
            "name",
            "role",
            "projects",
            "agent_id",
            "user_id",
            "expires_at",
            "may_attest",
            "acts_for_users",
        ]
        help_texts = {
            "may_attest": "For a key of CI or of your own: the project believes its "
            "reports of tests and of other facts. The words of other keys wait.",
            "acts_for_users": "For the server of an application: the key writes profile "
            "and soul of every user.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        projects = Project.objects.visible_to(self.caller)
        if self.caller.everywhere != Role.OWNER:
            owned = [pk for pk, role in self.caller.roles.items() if role == Role.OWNER]
            projects = projects.filter(pk__in=owned)
        if "projects" in self.fields:
            self.fields["projects"].queryset = projects  # type: ignore[attr-defined]  # a model choice

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
            may_attest=data["may_attest"],
            acts_for_users=data["acts_for_users"],
            caller=self.caller,
        )
        self.secret = issued.secret
        return issued.key


@admin.register(ApiKey)
class ApiKeyAdmin(AuditedAdmin):
    list_title = "API keys"
    form = KeyForm
    view_role = add_role = Role.OWNER
    list_select_related = ["account"]
    list_display = [
        "name_display",
        "prefix",
        "role_display",
        "projects_display",
        "status_display",
        "expires_display",
        "used_display",
    ]
    list_filter = [
        KeyStateFilter,
        choice_filter("role", Role.choices),
        exact_filter("agent_id"),
    ]
    search_fields = ["prefix", "name", "id", "agent_id", "user_id"]
    search_help_text = "Prefix, name, agent or user id"
    fieldsets = [
        (
            None,
            {
                "fields": [
                    "name_display",
                    "prefix",
                    "role_display",
                    "may_attest",
                    "acts_for_users",
                    "projects_display",
                    "status_display",
                ]
            },
        ),
        ("Bound to", {"fields": ["agent_id", "user_id"]}),
        (
            "Life",
            {
                "fields": [
                    "created_by",
                    "created_at",
                    "expires_display",
                    "revoked_at",
                    "used_display",
                    "replaced_by",
                    "line_id",
                ]
            },
        ),
    ]
    add_fieldsets = [
        (
            None,
            {"fields": ["name", "role", "projects", "may_attest", "acts_for_users"]},
        ),
        ("Bound to", {"fields": ["agent_id", "user_id", "expires_at"]}),
    ]
    row_actions = [
        AdminAction(
            "rotate",
            "Rotate",
            Role.OWNER,
            _rotate,
            "replaced by a new key",
            is_possible=lambda key, caller: not (key.has_ended or key.replaced_by_id),
            text_label="The old one stays usable for",
            choices=tuple(OVERLAPS),
        ),
        AdminAction(
            "allow-attesting",
            "Allow to attest",
            Role.OWNER,
            lambda key, caller, text: keys.change(key, may_attest=True, caller=caller),
            "allowed to attest",
            is_possible=lambda key, caller: not (key.has_ended or key.may_attest),
        ),
        AdminAction(
            "stop-attesting",
            "Stop attesting",
            Role.OWNER,
            lambda key, caller, text: keys.change(key, may_attest=False, caller=caller),
            "no longer allowed to attest",
            is_possible=lambda key, caller: key.may_attest and not key.has_ended,
        ),
        AdminAction(
            "revoke",
            "Revoke",
            Role.OWNER,
            lambda key, caller, text: keys.revoke(key, caller=caller),
            "revoked",
            is_possible=lambda key, caller: not key.has_ended,
            is_final=True,
        ),
    ]

    class Media:
        js = ["admin/copy.js"]

    name_display = panels.column("name", short_text, ordering="name")
    expires_display = panels.column(
        "expires_at", format_time, title="expires", ordering="expires_at"
    )
    used_display = panels.column(
        "last_used_at", format_time, title="last used", ordering="last_used_at"
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("projects")

    def may(self, request: HttpRequest, role: Role | None, row: Any = None) -> bool:
        """Ignore the row, because `visible_to` returns only keys that the caller controls."""
        return super().may(request, role)

    @admin.display(description="role", ordering="role")
    def role_display(self, key: ApiKey) -> str:
        return Role(key.role).label

    @admin.display(description="projects")
    def projects_display(self, key: ApiKey) -> Any:
        if key.everywhere:
            return "every project"
        return short_text(", ".join(project.name for project in key.projects.all()), 60)

    @label_column("state", {"usable": "success", "ended": "danger"})
    def status_display(self, key: ApiKey) -> str:
        return "usable" if key.is_usable else "ended"

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        messages.warning(request, _secret_message(obj, form.secret))
