"""Compare two revisions of the playbook, entry by entry."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from common.caller import Caller, Role
from common.text import word_diff
from playbook.history import replay
from playbook.history.revision import COLUMNS, SUPPORTS, EntryValues
from playbook.models import PlaybookEntry
from playbook.reading import past_revisions
from projects.models import Project

DifferenceKind = Literal["added", "removed", "changed"]
# The compared columns, without `version` and `updated_at`, which every change sets.
COMPARED_COLUMNS = [name for name in COLUMNS if name not in ("version", "updated_at")]
# Supporting memories are counted and not named, because memories may be private.
SUPPORT_COUNT = "support_count"


@dataclass(frozen=True)
class EntryDifference:
    """The difference in one entry.

    An entry is added if the entry is active only in the later revision. An entry is
    removed if the entry is active only in the earlier revision. Otherwise the entry is
    changed.
    """

    entry_id: uuid.UUID
    entry_label: str
    kind: DifferenceKind
    before: EntryValues | None
    after: EntryValues | None

    @cached_property
    def columns(self) -> dict[str, tuple[Any, Any]]:
        """Map each changed column to (before, after).

        The property is slow for thousands of entries.
        """
        old, new = self.before or {}, self.after or {}
        columns = {
            name: (old.get(name), new.get(name))
            for name in COMPARED_COLUMNS
            if old.get(name) != new.get(name)
        }
        counts = _count_supports(self.before), _count_supports(self.after)
        return columns | ({SUPPORT_COUNT: counts} if counts[0] != counts[1] else {})

    @property
    def words(self) -> list[word_diff.DiffPart]:
        """The word diff of the text.

        The property is slow for many entries.
        """
        before, after = self.columns.get("content", ("", ""))
        return word_diff.diff_words(before or "", after or "")


def diff_revisions(
    project: Project, first: int, last: int | None, caller: Caller
) -> tuple[int, list[EntryDifference]]:
    """Return the number of the last revision and the differences, ordered by label.

    Without `last`, the newest revision is compared. Raises UnknownRevision.
    """
    caller.require(Role.VIEWER, project.pk)
    newest = past_revisions.current_revision(project, caller)
    last = newest if last is None else last
    for revision in (first, last):
        if revision > newest:
            raise past_revisions.UnknownRevision(
                f"There is no revision {revision} yet."
            )
    before, after = replay.snapshots_around(project, min(first, last), max(first, last))
    if first > last:
        before, after = after, before
    ids = sorted(
        {*before, *after}, key=lambda pk: (before.get(pk) or after[pk])["label"]
    )
    differences = (diff_entry(pk, before.get(pk), after.get(pk)) for pk in ids)
    return last, [one for one in differences if one]


def diff_entry(
    entry_id: uuid.UUID, before: EntryValues | None, after: EntryValues | None
) -> EntryDifference | None:
    """Return the difference in an entry.

    Return None if there is no difference, or if both revisions have the entry inactive.
    """
    was, will = _is_live(before), _is_live(after)
    if not (before and after) and not (was or will):
        return None
    kind: DifferenceKind = "changed" if was == will else "added" if will else "removed"
    label = (before or after or {})["label"]
    difference = EntryDifference(entry_id, label, kind, before, after)
    # Added and removed entries always differ. Their columns are compared only when they
    # are shown.
    return difference if kind != "changed" or difference.columns else None


def _is_live(state: EntryValues | None) -> bool:
    return state is not None and state["status"] == PlaybookEntry.EntryStatus.ACTIVE


def _count_supports(state: EntryValues | None) -> int | None:
    return len(state[SUPPORTS]) if state else None
