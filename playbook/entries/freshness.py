"""Find entries to review again.

An entry needs a new review if its review is due, or if a file that it rests on changed.
Only a caller that may attest reports such a change.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar, cast

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from common.caller import Caller
from common.text.quote import json_string
from memories.models import File, Memory, MemoryFile
from playbook.models import Anchor, PlaybookChange, PlaybookDelta, Support
from playbook.queries import EntryQuerySet
from projects.models import Project

Rows = TypeVar("Rows", bound="QuerySet[Any]")

Freshness = Literal["due", "suspect", "fresh"]
FRESHNESS: tuple[Freshness, ...] = ("due", "suspect", "fresh")
# Relations in which a memory depends on the content of the file.
DEPENDENCY_RELATIONS = ("read", "modified", "created")
MAX_PATH = 80  # characters of a path in an entry's line


def next_review(project: Project, now: datetime) -> datetime | None:
    """Return when an entry that was confirmed at `now` must be reviewed.

    None means that the entry never needs a review.
    """
    days = project.options.playbook.review_days
    return now + timedelta(days=days) if days else None


def is_due(review_after: datetime | None) -> bool:
    return review_after is not None and review_after < timezone.now()


def filter_rows(
    rows: EntryQuerySet, freshness: Freshness, caller: Caller
) -> EntryQuerySet:
    """Keep only the rows that are due, only the suspect rows, or only the fresh rows.

    A fresh row is neither due nor suspect.
    """
    due = Q(review_after__lt=timezone.now())
    if freshness == "due":
        return rows.filter(due)
    rows_with_date = rows.annotate(confirmed_at=_confirmed_at())
    suspect = Exists(_changed_anchors()) | Exists(_changed_links(caller))
    if freshness == "suspect":
        return cast(EntryQuerySet, rows_with_date.filter(suspect))
    return cast(EntryQuerySet, rows_with_date.exclude(due).filter(~suspect))


def annotate(rows: Rows, caller: Caller) -> Rows:
    """Add the columns that `changed_files` reads, and `is_in_doubt`."""
    return rows.annotate(confirmed_at=_confirmed_at(), is_in_doubt=in_doubt()).annotate(
        named_changed=ArraySubquery(_changed_anchors().values("file_path")),
        linked_changed=ArraySubquery(_changed_links(caller).values("file__file_path")),
    )


def changed_files(entry: Any) -> tuple[str, ...]:
    """Return the changed files that make the entry suspect.

    The entry must have the columns that `annotate` adds.
    """
    return tuple(sorted({*entry.named_changed, *entry.linked_changed}))


def is_in_doubt(entry: Any) -> bool:
    """Return whether the entry is in doubt. It must have the columns of `annotate`."""
    return bool(entry.is_in_doubt)


def in_doubt() -> Q:
    """Match the entries that their votes, or a waiting proposal, put in doubt.

    A person's verification ends the doubt of the votes before it, and another text that of
    the proposals before it.
    """
    harmful_votes = PlaybookChange.objects.filter(
        entry_id=OuterRef("entry_id"),
        action="vote",
        after__has_key="harmful",
        revision__gt=OuterRef("revision"),
    )
    verified = PlaybookChange.objects.filter(
        ~Exists(harmful_votes), entry_id=OuterRef("pk"), action="verify"
    )
    waiting = PlaybookDelta.objects.casting_doubt().filter(
        entry=OuterRef("pk"), expected_version=OuterRef("version")
    )
    by_votes = Q(harmful__gte=Greatest(F("helpful"), 1)) & ~Exists(verified.order_by())
    return by_votes | Q(Exists(waiting.order_by()))


def suspect_files(
    project: Project, caller: Caller
) -> Mapping[uuid.UUID, tuple[str, ...]]:
    """Map each suspect entry of the project to the changed files that make it suspect.

    The queries start from the changed files, which are few. Queries that start from a
    thousand entries would take as long as the rest of `render`.
    """
    found: dict[uuid.UUID, set[str]] = defaultdict(set)
    for entry_id, path in [*_anchor_pairs(project), *_link_pairs(project, caller)]:
        found[entry_id].add(path)
    return {entry_id: tuple(sorted(paths)) for entry_id, paths in found.items()}


def doubt_note(text: str, *, is_contested: bool, files: Sequence[str]) -> str:
    """Return the note that follows the text of a doubtful entry (decision 0011).

    The note names a file only as the text itself names it: any writer can choose the
    path of another file, and a path can be advice.
    """
    named = next((path for path in files if path in text), None)
    first = json_string(named, MAX_PATH) if named else "a file that it rests on"
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    notes = [f"unconfirmed since {first}{more} changed"] if files else []
    notes += ["contested"] if is_contested else []
    return f" ({'; '.join(notes)})" if notes else ""


def _confirmed_at() -> Greatest:
    """Return the later time of the last change and the last verification.

    GREATEST ignores null.
    """
    return Greatest("updated_at", "verified_at")


def _changed_anchors() -> QuerySet[Anchor]:
    """Select the anchors of the outer entry whose files changed."""
    changed = File.objects.filter(
        project_id=OuterRef("project_id"),
        file_path=OuterRef("file_path"),
        attested_change_at__gt=OuterRef(OuterRef("confirmed_at")),
    )
    return Anchor.objects.filter(Exists(changed), entry=OuterRef("pk")).order_by()


def _changed_links(caller: Caller) -> QuerySet[MemoryFile]:
    """Select the file links of the outer entry's supporting memories whose files changed.

    Only memories that the caller may see count, and only links of those who may attest:
    any writer can report a task that supports an entry and name a file that often changes.
    """
    return MemoryFile.objects.filter(
        memory__in=_visible_memories(caller).filter(
            supports__entry=OuterRef(OuterRef("pk"))
        ),
        is_attested=True,
        relation_type__in=DEPENDENCY_RELATIONS,
        suspect_since__isnull=False,
        file__attested_change_at__gt=OuterRef("confirmed_at"),
    ).order_by()


def _visible_memories(caller: Caller) -> QuerySet[Memory]:
    return cast("QuerySet[Memory]", Memory.objects.visible_to(caller).readable())


def _anchor_pairs(project: Project) -> Iterable[tuple[uuid.UUID, str]]:
    changed = File.objects.filter(
        project_id=OuterRef("project_id"),
        file_path=OuterRef("file_path"),
        attested_change_at__gt=Greatest(
            OuterRef("entry__updated_at"), OuterRef("entry__verified_at")
        ),
    )
    rows = Anchor.objects.filter(Exists(changed), project_id=project.pk).order_by()
    return rows.values_list("entry_id", "file_path")


def _link_pairs(project: Project, caller: Caller) -> Iterable[tuple[uuid.UUID, str]]:
    rows = Support.objects.filter(
        entry__project=project,
        memory__in=_visible_memories(caller),
        memory__file_links__is_attested=True,
        memory__file_links__relation_type__in=DEPENDENCY_RELATIONS,
        memory__file_links__suspect_since__isnull=False,
        memory__file_links__file__attested_change_at__gt=Greatest(
            F("entry__updated_at"), F("entry__verified_at")
        ),
    ).order_by()
    return rows.values_list("entry_id", "memory__file_links__file__file_path")
