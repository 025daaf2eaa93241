"""Mark what this service gives to an agent, so that it is not learned again.

A transcript that comes back repeats what was given: `wrap` marks it, `remove` drops it.
"""

from __future__ import annotations

NAME = "agent-memory"
OPEN, CLOSE = f"<{NAME}>", f"</{NAME}>"


def wrap(text: str) -> str:
    """Return a text between the tags; tags inside of it are taken out."""
    return f"{OPEN}\n{_without_tags(text).strip()}\n{CLOSE}"


def remove(text: str) -> str:
    """Return a text without what is between the tags; an open tag reaches to the end."""
    first, *rest = text.split(OPEN)
    return first + "".join(each.partition(CLOSE)[2] for each in rest)


def _without_tags(text: str) -> str:
    """Take the tags out, also those that only appear once others are gone."""
    while OPEN in text or CLOSE in text:
        text = text.replace(OPEN, "").replace(CLOSE, "")
    return text
