"""Count where work happens: the folders that tasks changed most."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable

from context.card.card_line import CardLine, quote
from context.files.file_use import FileUse

MIN_CHANGES = 3
MAX_FOLDERS = 3


def write(uses: Iterable[FileUse]) -> list[CardLine]:
    """Return one line with the folders, and how many changes of files each had."""
    changes: Counter[str] = Counter()
    for use in uses:
        if use.changes and not use.is_gone:
            changes[posixpath.dirname(use.path) or "."] += use.changes
    most = sorted(changes.items(), key=lambda each: (-each[1], each[0]))[:MAX_FOLDERS]
    folders = [f"{quote(name)} ({n})" for name, n in most if n >= MIN_CHANGES]
    if not folders:
        return []
    text = f"- changes of files were most in {', '.join(folders)}"
    return [CardLine("work", text, "", sum(n for _, n in most))]
