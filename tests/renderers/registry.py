"""Every renderer of foreign text. A new one joins by one line."""

from __future__ import annotations

from tests.renderers import context_lines, playbook_texts
from tests.renderers.renderer import Renderer

RENDERERS: tuple[Renderer, ...] = (
    *context_lines.RENDERERS,
    *playbook_texts.RENDERERS,
)
