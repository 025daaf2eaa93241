"""Write a summary as an XML element, and keep messages from looking like one."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from conversations.models import Summary

_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?summary\b)", re.IGNORECASE)


def summary_element(summary: Summary) -> str:
    """Return a summary as one XML element, with its content escaped."""
    return (
        f'<summary id="{summary.summary_id}" kind="{summary.kind}" '
        f'depth="{summary.depth}" earliest_at="{summary.earliest_at.isoformat()}" '
        f'latest_at="{summary.latest_at.isoformat()}" '
        f'message_count="{summary.message_count}">\n'
        f"{escape(summary.content)}\n</summary>"
    )


def escape_forgery(text: str) -> str:
    """Put a backslash into each tag in the text of a message that looks like a summary's."""
    return _TAG.sub(r"<\\", text)
