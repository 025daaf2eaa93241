"""Make an observation of what a tool answered: readable, masked, and not too long."""

from __future__ import annotations

from collections.abc import Mapping

from agents.tools.echo_mask import mask_values
from agents.tools.tool import MAX_OBSERVATION
from common.text import plain_text, secrets
from projects.models import Project

# A character takes at most 4 bytes in UTF-8.
MAX_BYTES = 4 * MAX_OBSERVATION


def build_observation(
    text: str, values: Mapping[str, str], project: Project, *, is_cut: bool = False
) -> str:
    """Return at most MAX_OBSERVATION characters of a tool's answer.

    The secrets that the call used are masked, and also other secrets, unless the project
    allows secrets. `is_cut` says that more text followed, which was not read.
    """
    text = mask_values(plain_text.make_storable(text), values)
    if is_cut and values:
        # The end may be the beginning of a secret.
        text = text[: -3 * max(map(len, values.values()))]
    text, left_out = text[:MAX_OBSERVATION], len(text) - MAX_OBSERVATION
    if project.options.secrets != "allow":
        text = secrets.mask(text).text
    if left_out <= 0 and not is_cut:
        return text
    count = f"{left_out:,} characters" if not is_cut else "the rest"
    note = f"\n[{count} left out]"
    return text[: MAX_OBSERVATION - len(note)] + note


def decode(data: bytes, content_type: str) -> str:
    """Return the text of an answer; bytes that its character set lacks become U+FFFD."""
    _, _, parameters = content_type.partition("charset=")
    charset = parameters.split(";")[0].strip("\"' ") or "utf-8"
    try:
        return data.decode(charset, errors="replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", errors="replace")
