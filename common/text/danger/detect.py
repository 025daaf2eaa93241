"""Find dangerous advice in a text."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from common.text.visible import matching_form


@dataclass(frozen=True)
class Danger:
    """A dangerous phrase: its kind, its place in the original text, one sentence on it."""

    kind: str
    start: int
    end: int
    message: str


_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE), message)
    for kind, pattern, message in (
        (
            "pipe_to_shell",
            r"\b(?:curl|wget|iwr)\b[^\n|;]{0,300}\|\s{0,9}(?:sudo\s{1,9})?"
            r"(?:ba|z|da)?sh\b",
            "It runs text from the network in a shell.",
        ),
        ("root", r"\bsudo\s{1,9}[a-z]", "It runs a command as root."),
        ("removal", r"\brm\s{1,9}-(?:rf|fr)\b", "It removes files without asking."),
        ("force", r"(?<![\w-])--force\b", "It overrides a refusal."),
        ("check_off", r"(?<![\w-])--no-verify\b", "It skips a check."),
    )
)


def find_dangers(text: str, *, own_hosts: Set[str] = frozenset()) -> tuple[Danger, ...]:
    """Find dangerous advice, in order of its place.

    `own_hosts` are the hosts, or hosts with the beginning of a path, of the project.
    """
    form = matching_form(text)
    return tuple(
        Danger(kind, *form.origin_span(*match.span()), message)
        for kind, pattern, message in _PATTERNS
        for match in pattern.finditer(form.text)
    )
