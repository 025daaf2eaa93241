"""Write an entry as one line that no part of its text can leave: `[label] text`.

The text stays as a person reads it. Only what could pass for another part of a line is
escaped: counters at its start, a mark of doubt at its end, and the marks of a comment.
"""

from __future__ import annotations

import re

from common.text.quote import safe_line, visible_line

# The counters of the ACE line format, before its separator `::`.
COUNTERS = re.compile(r"(?P<pairs>(?:[A-Za-z_]+=[^\s:=]*(?:\s+|(?=::)))+)::|::(?=\s|$)")
# The mark that `playbook.entries.freshness.doubt_note` puts after a text.
DOUBT = (
    r'\((?:unconfirmed since (?:"(?:[^"\\]|\\.)*"|a file that it rests on)'
    r"(?: and [0-9]+ more)? changed"
    r"(?:; contested)?|contested)\)\Z"
)
_ENDING = re.compile(rf"(?<= )\\*{DOUBT}")
_COMMENT = re.compile(r"(?<=<)\\*(?=!--)|(?<=--)\\*(?=>)")


def write(label: str, content: str) -> str:
    """Return the line of an entry for an agent.

    Prompt injections are defused, and characters without a visible form are dropped.
    """
    text = safe_line(content)
    return f"[{label}] {':: ' if COUNTERS.match(text) else ''}{text}"


def least_size(label: str, content: str) -> int:
    """Return a size in bytes that the line has at least, for a tenth of its cost."""
    return len(f"[{label}] {visible_line(content)}".encode())


def write_marked(label: str, content: str, mark: str) -> str:
    """Return the line of an entry and its mark of doubt, which no text can forge."""
    line = write(label, content)
    return _ENDING.sub(lambda ending: f"\\{ending[0]}", line) + mark


def escape_comments(text: str) -> str:
    """Escape the marks of an HTML comment with a backslash, as Markdown does."""
    return _COMMENT.sub(lambda mark: f"{mark[0]}\\", text)


def unescape_comments(text: str) -> str:
    return _COMMENT.sub(lambda mark: mark[0][1:], text)
