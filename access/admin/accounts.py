from __future__ import annotations

from typing import Any

from axes.models import AccessAttempt, AccessLog
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from access import keys
from audit import admin as audit_admin
from audit.trail import record
from common.admin import panels
from common.admin.filters import choice_filter, exact_filter
from common.admin.model_admin import GlobalAdmin, caller_of
from common.admin.panels import Panel, format_time, short_text
from common.caller import Role
from projects import members
from projects.models import Membership


class AccountAdmin(GlobalAdmin):
    """Accounts: Django saves them, and each change writes an audit row."""

    add_role = change_role = Role.OWNER

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
            f"account.{verb}",
            object_type="account",
            object_id=row.pk,
            name=str(row),
        )

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request), "account")]


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(AccountAdmin, DjangoUserAdmin):  # type: ignore[misc, type-arg]  # unfold is untyped
    list_title = "Accounts"
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = [
        "username",
        "email",
        "is_active",
        "is_staff",
        "is_superuser",
        "last_login_display",
    ]
    list_filter = [
        choice_filter("is_active", [(1, "yes"), (0, "no")]),
        choice_filter("is_staff", [(1, "yes"), (0, "no")]),
        choice_filter("is_superuser", [(1, "yes"), (0, "no")]),
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
    # The fieldsets of the theme's own class are empty.
    add_fieldsets = DjangoUserAdmin.add_fieldsets
    readonly_fields = ["last_login", "date_joined"]

    last_login_display = panels.column("last_login", format_time, ordering="last_login")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow memberships, which have no delete page, to be deleted with their account."""
        rows, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return rows, counts, forbidden - {Membership._meta.verbose_name}, protected

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        members.remove_everywhere(obj, caller_of(request))
        keys.revoke_all(obj, caller=caller_of(request))
        super().delete_model(request, obj)


class SignInAdmin(GlobalAdmin):
    """Rows of the login throttle; only the throttle writes these rows."""

    list_filter = [
        exact_filter("username"),
        exact_filter("ip_address__startswith", "address", name="address"),
    ]
    search_fields = ["username", "ip_address__startswith"]
    search_help_text = "User name or address"

    time_display = panels.column(
        "attempt_time", format_time, title="at", ordering="attempt_time"
    )
    browser_display = panels.column(
        "user_agent", lambda text: short_text(text, 80), title="browser"
    )


@admin.register(AccessAttempt)
class AccessAttemptAdmin(SignInAdmin):
    list_title = "Locked sign-ins"
    list_display = [
        "username",
        "ip_address",
        "failures_since_start",
        "browser_display",
        "time_display",
    ]
    fields = [
        "username",
        "ip_address",
        "failures_since_start",
        "browser_display",
        "path_info",
        "time_display",
    ]


@admin.register(AccessLog)
class AccessLogAdmin(SignInAdmin):
    list_title = "Sign-ins"
    list_display = [
        "username",
        "ip_address",
        "browser_display",
        "time_display",
        "logout_time",
    ]
    fields = [
        "username",
        "ip_address",
        "browser_display",
        "path_info",
        "time_display",
        "logout_time",
    ]
