"""Addresses of the admin's lists: every number leads to the rows that it counts."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.weeks import Week
from projects.models import Project


def admin_list(model: str, project: Project, **where: object) -> str:
    """The list of a model (`app_model`), narrowed by its own filters."""
    asked = {"project": project.pk, **where}
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(asked)}"


def inbox_list(project: Project) -> str:
    """Where the project's waiting changes are decided."""
    return f"{reverse('console:inbox')}?{urlencode({'project': project.pk})}"


def link(url: str, label: str) -> SafeString:
    return format_html('<a class="am-link" href="{}">{}</a>', url, label)


def week_filter(column: str, first: Week, last: Week) -> dict[str, object]:
    """The filter of a list for whole weeks."""
    return {f"{column}_from": first.monday, f"{column}_to": last.sunday}
