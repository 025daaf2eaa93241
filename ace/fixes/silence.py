"""Say why a known fix is not said: a fix must be right, safe and worth its tokens."""

from __future__ import annotations

from enum import StrEnum

from ace.fixes import fix_text
from ace.fixes.choice import ChosenCure
from ace.fixes.fix_words import FixWords
from common.text import literals, secrets
from memories.models import File
from playbook.rule_text import unsafe_phrases
from projects.models import Project
from projects.own_hosts import find_own_hosts


class Silence(StrEnum):
    """The reasons, in the order in which they are looked for."""

    NO_WORDS = "no words: the call was repeated, or an operand of it exchanged"
    UNCLEAR = "no cure has 60 % of the repairs and was seen in two sessions"
    FAILED_LATELY = "it failed in its last two uses"
    NOT_SHARED = "one other person has shown it, or it leads to another package or host"
    SECRET = "it may have a secret"
    UNSAFE = "its words fail the danger gate"
    FILE_GONE = "it names a file that is gone"
    WITHDRAWN = "its lesson was rejected, or its rule is retired"


def find_reason(
    project: Project, cure: ChosenCure, words: FixWords, *, is_vouched_for: bool
) -> Silence | None:
    """Return the first reason for silence, or None if the fix may be said.

    What the caller's own sessions showed, or a live rule that is trusted states, needs no
    second session.
    """
    if not words.is_sayable:
        return Silence.NO_WORDS
    if not (cure.is_clear or (is_vouched_for and cure.is_alone)):
        return Silence.UNCLEAR
    if cure.has_failed_lately:
        return Silence.FAILED_LATELY
    if not words.is_shared:
        return Silence.NOT_SHARED
    return _find_danger(project, cure, words)


def _find_danger(project: Project, cure: ChosenCure, words: FixWords) -> Silence | None:
    """Look through all that the reader may run or write, and through the line itself."""
    followed = "\n".join([words.worked, " ".join(words.added)])
    if not secrets.is_clean(followed):
        return Silence.SECRET
    text = f"{followed}\n{fix_text.write(cure, words)}"
    if unsafe_phrases.find_phrases(text, find_own_hosts(project)):
        return Silence.UNSAFE
    paths = literals.find_paths(followed)
    files = File.objects.filter(project=project, file_path__in=paths) if paths else ()
    return Silence.FILE_GONE if any(file.is_gone for file in files) else None
