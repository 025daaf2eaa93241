"""Tell the words of a person from what the harness of a coding agent puts beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

# The elements that Claude Code writes into the prompts of a session, and the one in which this
# service gives what it knows (common.text.memory_fence).
_ELEMENT = re.compile(
    r"<(agent-memory|system-reminder|task-notification|command-[a-z]{1,20}|local-command-[a-z]{1,20}"
    r"|bash-[a-z]{1,20}|ide(?:_[a-z]{1,20}){0,3}|user-prompt-submit-hook)(?:\s[^>]{0,200})?>"
)

# The results of a call that the person refused, and what stands before the person's words: of
# Claude Code and of OpenCode.
_REFUSALS = {
    "The user doesn't want to proceed with this tool use": "the user said:",
    "The user rejected permission to use this specific tool call": "feedback:",
}
# The keys of a message's metadata that keep what a transcript's line said beside the words; the
# second is that of sessions which were stored before there were several formats.
METADATA_KEYS = ("transcript", "claude_code")
# What the harness itself says for a person who wants to talk about its questions.
_NO_WORDS = "The user wants to clarify these questions"


def read_refusal(result: str, *, is_error: bool) -> str:
    """Return what the person said when they refused a call, "" if they did not.

    A call that ran may print the same words: the harness marks a refusal as an error.
    """
    if not is_error:
        return ""
    for beginning, reason in _REFUSALS.items():
        if result.startswith(beginning):
            words = result.partition(reason)[2].strip()
            return "" if words.startswith(_NO_WORDS) else words
    return ""


def split_harness(text: str) -> tuple[str, str]:
    """Return the words of the person, and the content of the elements of the harness.

    An element that does not end reaches to the end of the text.
    """
    words: list[str] = []
    added: list[str] = []
    for kept, content in _pieces(text):
        words.append(kept)
        added.append(content)
    content = "\n".join(filter(None, map(str.strip, added)))
    return ("".join(words).strip() if content else text), content


def is_of_harness(metadata: Mapping[str, Any]) -> bool:
    """Return whether a message was written by the harness, such as the text of a skill."""
    return any(
        bool(recorded.get("meta"))
        for name in METADATA_KEYS
        if isinstance(recorded := metadata.get(name), Mapping)
    )


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text before each element, and the element's content."""
    at = 0
    while opening := _ELEMENT.search(text, at):
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            yield text[at : opening.start()], text[opening.end() :]
            return
        yield text[at : opening.start()], text[opening.end() : end]
        at = end + len(closing)
    yield text[at:], ""
