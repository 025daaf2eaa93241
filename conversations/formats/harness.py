"""Tell the words of a person from what the harness of a coding agent puts beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

# The elements that harnesses write into the prompts of a session, and the one in which this
# service gives what it knows (common.text.memory_fence).
_ELEMENT = re.compile(
    r"(?<!`)<(agent-memory|system-reminder|(?:task|agent)-notification|command-[a-z]{1,20}|local-command-[a-z]{1,20}"
    r"|bash-[a-z]{1,20}|ide(?:_[a-z]{1,20}){0,3}|user-prompt-submit-hook|teammate-message"
    r"|user_instructions|INSTRUCTIONS|environment_context|permissions|turn_aborted|skill|user_shell_command"
    r"|subagent_notification|recommended_plugins|goal_context|collaboration_mode"
    r"|hook_context|untrusted_context|session_context)(?:\s[^>]{0,200})?>"
)
_CLOSING = re.compile(r"</([A-Za-z_-]{1,60})>")
# Behind the opening of an element that a sentence names: `<skill> is empty`, `<skill>, too`.
_IN_SENTENCE = re.compile(r"[ \t]{1,8}\S|[ \t]{0,8}[.,;:!?)]")
_MAX_INDENT = 20  # characters before an element that begins a line
# The element whose content a person typed, behind the name of a command.
_TYPED = "command-args"
# An element that fills a text, unless a person may have pasted it from a page or a program.
_WHOLE = re.compile(r"\s{0,20}<([A-Za-z][\w.-]{1,60})(?:\s[^>]{0,200})?>")
_PASTED = re.compile(
    r"a|article|aside|b|blockquote|body|button|canvas|code|configuration|dependency|details|div|dl|em"
    r"|fieldset|figure|footer|form|h[1-6]|head|header|html|i|iframe|img|input|label|li|link|main|meta|nav"
    r"|ol|option|p|path|plugin|pre|project|script|section|select|small|span|strong|style|summary|svg|table"
    r"|tbody|td|template|textarea|th|thead|title|tr|ul|video|xml"
    # What people write in brackets to a model.
    r"|task|prompt|instructions?|question|request|requirements?|spec|bug|issue|error|log|examples?|documents?|notes?"
    r"|rules?|goals?|feedback|constraints?|context|background|answer|query|user_query|data|files?|system|role"
    r"|input|output|text|content|code_snippet|steps?|plan|format|tone|audience",
    re.IGNORECASE,
)
# What Codex writes before a person's words: the state of an editor, and the rules of a project.
_EDITOR_STATE = re.compile(r"\s{0,20}# [^\n]{1,200}\n")
_REQUEST = "\n## My request for Codex:"
_RULES = re.compile(
    r"\s{0,20}# AGENTS\.md instructions[^\n]{0,4096}\n\s{0,20}<INSTRUCTIONS>.*?</INSTRUCTIONS>",
    re.DOTALL,
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

    An element that begins a line and does not end reaches to the end of the text. One within
    a sentence is a word of the person.
    """
    rules = _RULES.match(text)
    start = rules.end() if rules else 0
    if _EDITOR_STATE.match(text, start) and (at := text.find(_REQUEST, start)) >= 0:
        end = at + len(_REQUEST)
        return text[end:].strip(), text[:end].strip()
    words: list[str] = []
    added = [text[:start]]
    for kept, content in _pieces(text[start:]):
        words.append(kept)
        added.append(content)
    content = "\n".join(filter(None, map(str.strip, added)))
    is_plain = not content and len(words) == 1
    return (text if is_plain else "".join(words).strip()), content


def find_unknown_element(text: str) -> str:
    """Return the name of an unknown element, if elements fill a text; "" otherwise.

    A harness writes such a text: a new kind of element is seen by its name.
    """
    found, at, text = "", 0, text.rstrip()
    while at < len(text):
        opening = _WHOLE.match(text, at)
        if not opening or _PASTED.fullmatch(opening[1]):
            return ""
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if text.find(f"<{opening[1]}", opening.end(), max(end, 0)) >= 0:
            end = text.rfind(closing)  # one within another
        if end < 0:
            return ""
        found = found or (
            "" if _ELEMENT.match(text, opening.start(1) - 1) else opening[1]
        )
        at = end + len(closing)
    return found


def is_of_harness(metadata: Mapping[str, Any]) -> bool:
    """Return whether a message was written by the harness, such as the text of a skill."""
    return any(
        bool(recorded.get("meta"))
        for name in METADATA_KEYS
        if isinstance(recorded := metadata.get(name), Mapping)
    )


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text before each element, and the element's content."""
    at = place = 0
    last = {found[1]: found.start() for found in _CLOSING.finditer(text)}
    while opening := _ELEMENT.search(text, place):
        name, start, place = opening[1], opening.start(), opening.end()
        if last.get(name, -1) < place:
            if _is_word(text[max(at, start - _MAX_INDENT) : start], text, place):
                continue
            yield text[at:start], text[place:]
            return
        # Whole elements of these names, such as <system-reminder>, are never a person's.
        is_plain = name.isalpha()
        if is_plain and _is_within(
            text[max(at, start - _MAX_INDENT) : start], text, place
        ):
            continue
        end = text.find(f"</{name}>", place)
        content = text[place:end]
        is_typed = name == _TYPED
        yield text[at:start], "" if is_typed else content
        if is_typed:
            yield content, ""
        at = place = end + len(f"</{name}>")
    yield text[at:], ""


def _is_word(before: str, text: str, end: int) -> bool:
    """Return whether an opening that nothing closes is a word of a person's sentence."""
    return not _begins_line(before) or bool(_IN_SENTENCE.match(text, end))


def _is_within(before: str, text: str, end: int) -> bool:
    """Return whether an opening stands within a sentence, on both sides of it."""
    return not _begins_line(before) and bool(_IN_SENTENCE.match(text, end))


def _begins_line(before: str) -> bool:
    lead = before.rstrip(" \t")
    return lead.endswith("\n") or (not lead and len(before) < _MAX_INDENT)
