"""Make an observation of what a tool answered: readable, masked, and not too long."""

from __future__ import annotations

from collections.abc import Mapping

from agents.tools.header_secrets import mask_values
from agents.tools.tool import MAX_OBSERVATION
from common.text import plain_text, secrets
from projects.models import Project


def build_observation(text: str, values: Mapping[str, str], project: Project) -> str:
    """Return at most MAX_OBSERVATION characters of a tool's answer.

    The secrets that the call used are masked, and also other secrets, unless the project
    allows secrets.
    """
    text = mask_values(plain_text.make_storable(text), values)
    text, left_out = text[:MAX_OBSERVATION], len(text) - MAX_OBSERVATION
    if project.options.secrets != "allow":
        text = secrets.mask(text).text
    if left_out <= 0:
        return text
    note = f"\n[{left_out:,} characters left out]"
    return text[: MAX_OBSERVATION - len(note)] + note
