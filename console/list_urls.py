"""URLs of the admin's lists, of the inbox and of files.

Every number on a page links to the rows that it counts.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.weeks import Week
from playbook.models import PlaybookDelta
from projects.models import Project


def admin_list(model: str, project: Project, **where: object) -> str:
    """Return the URL of the admin's list of a model.

    `model` has the form `app_model`. `where` are filters that the list itself offers.
    """
    query = {"project": project.pk, **where}
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(query)}"


def inbox_list(project: Project, tab: str = "pending") -> str:
    """Return the URL of a tab of the project's review inbox."""
    return (
        f"{reverse('console:inbox')}?{urlencode({'project': project.pk, 'tab': tab})}"
    )


def inbox_page(name: str, row: PlaybookDelta) -> str:
    """Return the URL of a page of the inbox about a proposal."""
    page = reverse(f"console:{name}", args=[row.pk])
    return f"{page}?{urlencode({'project': row.project_id})}"


def file_page(project: Project, path: str) -> str:
    """Return the URL of a file's page."""
    query = urlencode({"project": project.pk, "path": path})
    return f"{reverse('console:file')}?{query}"


def link(url: str, label: object) -> SafeString:
    return format_html('<a class="am-link" href="{}">{}</a>', url, label)


def week_filter(column: str, first: Week, last: Week) -> dict[str, object]:
    """Return the parameters of a list that keep the rows of these weeks."""
    return {f"{column}_from": first.monday, f"{column}_to": last.sunday}
