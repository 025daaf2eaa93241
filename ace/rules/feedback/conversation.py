"""Tell what people say from what they paste: plans, code, logs, quotations, reports.

Feedback and prompts are conversation. A pasted text is somebody else's, or about this moment,
and its sentences are no advice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.rules.feedback import sentences

# In characters. A longer text is a document; only its first paragraph introduces it.
MAX_TALK = 3_000

_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6} \S|[=-]{4,}[ \t]*$")
_PASTED_LINE = re.compile(
    r"[ \t]{0,3}[>|]|(?: {4}|\t)(?![ \t]{0,8}(?:[-*\u2022]|\d{1,3}[.)]) )"
    r"|diff --git |@@ |[+-]{3} |\+\s|[ \t]{0,8}[\u2500-\u257f\u276f\u23bf\u23fa\u2713\u2717\u25cf$%] ?"
    r"|[ \t]{0,8}\[?(?:\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d\b)|[ \t]{0,8}at [\w.$<>]{2,80}[(:]"
    r"|[ \t]{0,8}(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Traceback)\b[:\] ]"
    r"|[ \t]{0,8}[^\s:]{1,120}\.\w{1,6}:\d{1,7}\b|={2,} |import [\w.]+$|from [\w.]+ import ",
    re.MULTILINE,
)
# "I got this error:", "the reviewer says:". What follows is not the person's own.
_INTRODUCTION = re.compile(
    r"\b(?:feedback|errors?|output|logs?|says?|said|sees?|shows?|following|plan|message"
    r"|comments?|warnings?|got|this|here(?:'s| is)|like|e\.g\.?|example|issue"
    r"|suggestion)\b[^\n.!?]{0,60}:[ \t]*$",
    re.IGNORECASE,
)


def split(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence that a person says in the text."""
    lines = _own_lines(text)
    first, last = 0, 0
    quoted = _quotations(text)
    begin, finish = 0, 0
    for start, end in sentences.split(text):
        while finish <= start:
            begin, finish = next(quoted, (len(text), len(text) + 1))
        if begin < start:
            continue  # within a quotation
        while last < end:
            first, last = next(lines, (len(text), len(text) + 1))
        if first <= start:
            yield start, end


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each quotation. One ends in the paragraph where it begins."""
    for paragraph in re.finditer(r"(?:[^\n]+\n?)+", text):
        marks = [paragraph.start() + m.start() for m in re.finditer('"', paragraph[0])]
        yield from zip(marks[::2], marks[1::2], strict=False)


def _own_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line, or run of lines, that is not pasted."""
    is_document = len(text) > MAX_TALK
    in_fence = False
    start = 0
    for line in text.splitlines(keepends=True):
        first, start = start, start + len(line)
        if _FENCE.match(line):
            in_fence = not in_fence
        elif in_fence:
            continue
        elif _HEADING.match(line) or (is_document and not line.strip()):
            return
        elif line.strip() and not _PASTED_LINE.match(line):
            yield first, start
            if _INTRODUCTION.search(line):
                return
