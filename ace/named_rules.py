"""Find the playbook entries that a finished task names.

The task names the entries that were injected and the entries that the agent cited.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q

from playbook.models import PlaybookEntry
from projects.models import Project

CITED, INJECTED = "cited_entry_ids", "injected_entry_ids"
# The number of unknown names that the note lists.
MAX_LISTED = 20


def find(
    project: Project, request: Mapping[str, Any], *fields: str
) -> list[PlaybookEntry]:
    """Return the entries of the project that the request names by id, label or alias."""
    names = list(_names(request, *fields))
    if not names:
        return []
    ids = [value for name in names if (value := _uuid(name))]
    live = Q(aliases__overlap=names, status=PlaybookEntry.EntryStatus.ACTIVE)
    rows = PlaybookEntry.objects.filter(project=project).light()
    entries = rows.filter(Q(pk__in=ids) | Q(label__in=names) | live)
    return list(entries.order_by("pk"))


def unknown_name_notes(project: Project, request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note that lists the names in the request that no entry has.

    Return an empty tuple if every name belongs to an entry.
    """
    names = dict.fromkeys(_names(request, CITED, INJECTED))
    known: set[str] = set()
    for entry in find(project, request, CITED, INJECTED):
        known.update((str(entry.pk), entry.label, *entry.aliases))
    unknown = [name for name in names if str(_uuid(name) or name) not in known]
    if not unknown:
        return ()
    more = f" and {len(unknown) - MAX_LISTED} more" if len(unknown) > MAX_LISTED else ""
    return (f"no such entry in the playbook: {', '.join(unknown[:MAX_LISTED])}{more}",)


def _names(request: Mapping[str, Any], *fields: str) -> Iterator[str]:
    for field in fields:
        yield from map(str, request.get(field) or [])


def _uuid(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None
