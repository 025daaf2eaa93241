"""Convert the verbs of instructions between base form, past, gerund and third person."""

from __future__ import annotations

from ace.rules import word_tables

# Verbs that begin an instruction. "Have", "see" and "know" begin a report.
BASE_VERBS = word_tables.read("base_verbs")
_IRREGULAR = word_tables.read_values("irregular_verbs")
_VOWELS = "aeiou"


def _doubles(verb: str) -> bool:
    """Return whether the last letter is doubled, as in `plan`, `planned`."""
    if len(verb) < 3 or verb[-1] in "aeiouwxyh" or verb[-2] not in _VOWELS:
        return False
    one_syllable = sum(char in _VOWELS for char in verb) == 1
    return (one_syllable and verb[-3] not in _VOWELS) or verb.endswith(
        ("refer", "submit", "commit", "prefer")
    )


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if _doubles(verb) else f"{verb}ed"


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if _doubles(verb) else f"{verb}ing"


def _third(verb: str) -> str:
    if verb.endswith(("s", "x", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies"
    return f"{verb}s"


_PASTS = {_past(verb): verb for verb in sorted(BASE_VERBS)} | _IRREGULAR
_GERUNDS = {_gerund(verb): verb for verb in sorted(BASE_VERBS)}


def base_of_past(word: str) -> str | None:
    """Return `ask` for `asked`. Return None if the word is not the past of a known verb."""
    return _PASTS.get(word.lower())


def base_of_gerund(word: str) -> str | None:
    return _GERUNDS.get(word.lower())


def is_base(word: str) -> bool:
    return word.lower() in BASE_VERBS


def to_present(past: str) -> str | None:
    """Return `mentions` for `mentioned`."""
    verb = base_of_past(past)
    return _third(verb) if verb else None
