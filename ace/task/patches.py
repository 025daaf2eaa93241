"""Find the files in patches, which are `apply_patch` bodies or unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ace.task import file_paths
from ace.task.file_paths import PathLink, Relation

# A task may have the same number of links.
MAX_FILES = 1_000

_DIRECTIVE = re.compile(
    r"^\*\*\* (?P<verb>Add File|Update File|Delete File|Move to): (?P<path>[^\r\n]{1,500})",
    re.MULTILINE,
)
_RELATIONS: dict[str, Relation] = {
    "Add File": "created",
    "Update File": "modified",
    "Delete File": "deleted",
    "Move to": "created",
}
_HEADER = re.compile(
    r"^--- (?P<old>[^\r\n]{1,500})\r?\n\+\+\+ (?P<new>[^\r\n]{1,500})", re.MULTILINE
)
_HUNK = re.compile(
    r"^@@ -\d{1,7}(?:,\d{1,7})? \+(?P<start>\d{1,7})(?:,(?P<count>\d{1,7}))? @@",
    re.MULTILINE,
)
_RENAME = re.compile(r"^rename (?P<end>from|to) (?P<path>[^\r\n]{1,500})", re.MULTILINE)


def parse_apply_patch(text: str) -> list[PathLink]:
    """Return the links of an `apply_patch` body. After a move, the old name is deleted."""
    if "*** " not in text:
        return []
    found: list[PathLink] = []
    for match in islice(_DIRECTIVE.finditer(text), MAX_FILES):
        path = file_paths.normalise(match["path"], explicit=True)
        if match["verb"] == "Move to" and found:
            found[-1] = PathLink(found[-1].path, "deleted")
        if path:
            found.append(PathLink(path, _RELATIONS[match["verb"]]))
    return found


def parse_diff(text: str) -> list[PathLink]:
    """Return the links of a unified diff, with the lines that its hunks cover."""
    if "--- " not in text and "rename " not in text:
        return []
    return [*_changed_files(text), *_renamed_files(text)]


def _changed_files(text: str) -> Iterator[PathLink]:
    headers = list(islice(_HEADER.finditer(text), MAX_FILES))
    ends = [*(header.start() for header in headers[1:]), len(text)]
    # If there is no header, `ends` has one item and `headers` has none.
    for header, end in zip(headers, ends, strict=False):
        old, new = _file_name(header["old"]), _file_name(header["new"])
        if new is None and old is not None:
            yield PathLink(old, "deleted")
        elif new is not None:
            start, last = _covered_lines(text, header.end(), end)
            created = header["old"].startswith("/dev/null")
            yield PathLink(new, "created" if created else "modified", start, last)


def _renamed_files(text: str) -> Iterator[PathLink]:
    for match in islice(_RENAME.finditer(text), MAX_FILES):
        path = file_paths.normalise(match["path"], explicit=True)
        if path:
            yield PathLink(path, "deleted" if match["end"] == "from" else "created")


def _file_name(text: str) -> str | None:
    name = text.split("\t", 1)[0].strip()
    if name == "/dev/null":
        return None
    if name.startswith(("a/", "b/")):
        name = name[2:]
    return file_paths.normalise(name, explicit=True)


def _covered_lines(text: str, start: int, end: int) -> tuple[int | None, int | None]:
    """Return the first and the last line that the hunks of one file cover.

    A hunk that begins before the one above it is of another file: the middle of a long diff
    may be cut, and the header of that file with it.
    """
    first = last = None
    begins = 0
    for hunk in _HUNK.finditer(text, start, end):
        if int(hunk["start"]) < begins:
            break
        begins = int(hunk["start"])
        length = int(hunk["count"]) if hunk["count"] is not None else 1
        first = begins if first is None else first
        last = begins + max(length, 1) - 1
    return first, last
