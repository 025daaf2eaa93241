"""The files that entries name: kept true to their texts, and moved with the files."""

from __future__ import annotations

from collections.abc import Iterable

from common.text import literals
from memories.store import files
from playbook.models import Anchor, PlaybookEntry
from projects.models import Project


def refresh(entries: Iterable[PlaybookEntry]) -> None:
    """Let anchors say what these new or reworded entries name now."""
    named = {entry.pk: entry for entry in entries}
    if not named:
        return
    Anchor.objects.filter(entry__in=named).delete()
    Anchor.objects.bulk_create(
        Anchor(entry=entry, project_id=entry.project_id, file_path=path)
        for entry in named.values()
        for path in literals.find_paths(entry.content)
    )


@files.on_rename
def rename_file(project: Project, old: str, new: str) -> None:
    """Let entries that name a renamed file be suspect when it changes later."""
    rows = Anchor.objects.filter(project_id=project.pk)
    both = rows.filter(file_path=new).values("entry")
    rows.filter(file_path=old, entry__in=both).delete()
    rows.filter(file_path=old).update(file_path=new)
