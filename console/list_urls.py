"""URLs of the admin's lists.

Every number on a page links to the rows that it counts.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.weeks import Week
from projects.models import Project


def admin_list(model: str, project: Project, **where: object) -> str:
    """Return the URL of the admin's list of a model.

    `model` has the form `app_model`. `where` are filters that the list itself offers.
    """
    query = {"project": project.pk, **where}
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(query)}"


def record(model: str, pk: object) -> str:
    """Return the URL of the admin's page of a row."""
    return reverse(f"admin:{model}_change", args=[pk])


def inbox_list(project: Project) -> str:
    """Return the URL of the project's review inbox."""
    return f"{reverse('console:inbox')}?{urlencode({'project': project.pk})}"


def link(url: str, label: str) -> SafeString:
    return format_html('<a class="am-link" href="{}">{}</a>', url, label)


def week_filter(column: str, first: Week, last: Week) -> dict[str, object]:
    """Return the parameters of a list that keep the rows of these weeks."""
    return {f"{column}_from": first.monday, f"{column}_to": last.sunday}
