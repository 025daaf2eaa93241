"""Every renderer of foreign text. A new one joins by one line."""

from __future__ import annotations

from tests.renderers import (
    card_lines,
    context_lines,
    hook_lines,
    pages_and_notices,
    playbook_texts,
    prompts,
    tool_answers,
)
from tests.renderers.renderer import Renderer

RENDERERS: tuple[Renderer, ...] = (
    *context_lines.RENDERERS,
    *card_lines.RENDERERS,
    *hook_lines.RENDERERS,
    *playbook_texts.RENDERERS,
    *pages_and_notices.RENDERERS,
    *prompts.RENDERERS,
    *tool_answers.RENDERERS,
)
