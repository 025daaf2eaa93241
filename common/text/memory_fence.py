"""The fence around what a hook gives an agent, and its removal when a transcript comes back.

Without the removal, the service would learn again what it has given.
"""

from __future__ import annotations

import re

OPEN, CLOSE = "<agent-memory>", "</agent-memory>"
_MARK = re.compile(r"<(?=/?agent-memory>)", re.IGNORECASE)
# What a mark inside the fence begins with: in a JSON string, `\u003c` is `<`.
_ESCAPED = r"\u003c"


def fence(text: str) -> str:
    """Return a text between the two marks; a mark inside the text is escaped."""
    return f"{OPEN}\n{_MARK.sub(lambda _: _ESCAPED, text).strip()}\n{CLOSE}"


def remove_fenced(text: str) -> str:
    """Return a text without what is fenced. A fence without an end reaches to the end.

    A harness may have cut the text of a hook.
    """
    kept, position = [], 0
    while (start := text.find(OPEN, position)) >= 0:
        kept.append(text[position:start])
        end = text.find(CLOSE, start)
        position = end + len(CLOSE) if end >= 0 else len(text)
    return "".join([*kept, text[position:]])
