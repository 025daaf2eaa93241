"""Anchors: the files that the texts of entries name."""

from __future__ import annotations

from collections.abc import Iterable

from common.text import literals
from common.text.paths import clean_path
from memories.store import files
from playbook.models import Anchor, PlaybookEntry
from projects.models import Project


def refresh(entries: Iterable[PlaybookEntry]) -> None:
    """Replace the anchors of new or reworded entries."""
    by_id = {entry.pk: entry for entry in entries}
    if not by_id:
        return
    Anchor.objects.filter(entry__in=by_id).delete()
    Anchor.objects.bulk_create(
        Anchor(entry=entry, project_id=entry.project_id, file_path=path)
        for entry in by_id.values()
        for path in dict.fromkeys(map(clean_path, literals.find_paths(entry.content)))
    )


@files.on_rename
def rename_file(project: Project, old: str, new: str) -> None:
    """Move the anchors of a renamed file, so that later changes of the file are noticed."""
    rows = Anchor.objects.filter(project_id=project.pk)
    both = rows.filter(file_path=new).values("entry")
    rows.filter(file_path=old, entry__in=both).delete()
    rows.filter(file_path=old).update(file_path=new)
