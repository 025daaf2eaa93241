"""Build the prompt of a summary from the files in `prompts/`."""

from __future__ import annotations

import re
from pathlib import Path

from conversations.summarizers.options import SummarizeOptions

PROMPTS = Path(__file__).parent / "prompts"
# The elements that have a meaning in a prompt or in an assembled context. In a text from
# outside, a backslash after "<" keeps such an element from opening or closing.
STRUCTURE_TAGS = (
    "previous_context",
    "conversation_segment",
    "summaries",
    "summary",
    "content",
    "parents",
    "summary_ref",
    "prior_context",
    "agent_memory",
    "profile",
    "soul",
    "constraints",
)
_STRUCTURE = re.compile(
    rf"<(?=\s{{0,8}}/?\s{{0,8}}(?:{'|'.join(STRUCTURE_TAGS)})\b)", re.IGNORECASE
)
AGGRESSIVE = (
    "Aggressive: keep only what is needed to go on: decisions, open points, file changes, "
    "error codes. Drop explanations and steps that led nowhere."
)
NORMAL = (
    "Normal: keep decisions and their reasons, open points, and every change of a file."
)


def escape_structure(text: str) -> str:
    """Escape the structural elements in a text, so that the text cannot close its block."""
    return _STRUCTURE.sub(r"<\\", text)


def build_prompt(text: str, options: SummarizeOptions) -> str:
    """Return the prompt for a text of messages (leaf) or of summaries (condensed, deep)."""
    template = (PROMPTS / f"{_template_name(options)}.md").read_text(encoding="utf-8")
    values = {
        "policy": AGGRESSIVE if options.aggressive else NORMAL,
        "target": str(options.target_of(text)),
        "previous": escape_structure(options.previous.strip()) or "(none)",
        "text": escape_structure(text),
    }
    # One pass, so that a text that contains a field's name is not filled in again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def _template_name(options: SummarizeOptions) -> str:
    if not options.is_condensed:
        return "leaf"
    return "condensed" if options.depth <= 1 else "deep"
