"""Write the recommended files in at most six lines; paths and purposes are JSON strings."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from common.text.quote import json_string
from inference import tokens

MAX_LINES = 5
MAX_TOKENS = 90
MIN_PURPOSE = 8  # characters; a shorter piece says nothing
MAX_PATH = 160  # characters


def write(files: Sequence[tuple[str, str]]) -> str:
    """Return where to start: the folder that the files share, and a line for each file.

    A file is its path and what it is for. All paths are given before the first purpose is;
    the purposes share what the tokens leave.
    """
    chosen = list(files[:MAX_LINES])
    while chosen:
        folder = shared_folder([path for path, _ in chosen])
        below = f", below {json_string(folder)}" if folder else ""
        head = f"- [files] where to start{below}:"
        paths = [json_string(path[len(folder) :], MAX_PATH) for path, _ in chosen]
        lines = [head, *(f"  - {path}" for path in paths)]
        room = MAX_TOKENS * tokens.BYTES_PER_TOKEN - len("\n".join(lines).encode())
        if room >= 0:
            purposes = [purpose for _, purpose in chosen]
            return "\n".join([head, *_with_purposes(lines[1:], purposes, room)])
        chosen.pop()
    return ""


def _with_purposes(
    lines: Sequence[str], purposes: Sequence[str], room: int
) -> Iterator[str]:
    for at, (line, purpose) in enumerate(zip(lines, purposes, strict=True)):
        end = _fit(purpose, room // (len(lines) - at))
        room -= len(end.encode())
        yield f"{line}{end}"


def _fit(purpose: str, size: int) -> str:
    """Return the purpose as the end of a line of at most `size` bytes, or ""."""
    limit = min(size - 4, 100)  # `: ""`
    while purpose and limit >= MIN_PURPOSE:
        text = f": {json_string(purpose, limit)}"
        if len(text.encode()) <= size:
            return text
        limit -= max(1, len(text.encode()) - size)
    return ""


def shared_folder(paths: Sequence[str]) -> str:
    """Return the folder of several files with the last slash, or ""."""
    folders = {posixpath.dirname(path) for path in paths}
    if len(paths) < 2 or "" in folders or len({f[0] == "/" for f in folders}) > 1:
        return ""
    shared = posixpath.commonpath(folders)
    return (
        f"{shared}/"
        if shared and all(p.startswith(f"{shared}/") for p in paths)
        else ""
    )
