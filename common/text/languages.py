"""Programming languages by the extensions of their files (`languages.txt`)."""

from __future__ import annotations

from pathlib import Path


def _read() -> dict[str, str]:
    """Read the table: a line is `extension: language`, or an extension that is the language."""
    text = (Path(__file__).parent / "languages.txt").read_text(encoding="utf-8")
    pairs = (line.partition(": ") for line in text.splitlines())
    return {extension: name or extension for extension, _, name in pairs}


BY_EXTENSION = _read()
NAMES = frozenset(BY_EXTENSION.values())
# Languages whose names are a letter or an everyday word.
_AMBIGUOUS = frozenset({"c", "r", "m", "go", "dart", "swift", "shell", "vue", "less"})


def of_path(path: str) -> str:
    """Return the language of a file, or "" if its extension is unknown."""
    name = path.rpartition("/")[2]
    return BY_EXTENSION.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def of_word(word: str) -> str:
    """Return the language that a word names, or "" if it names none.

    An everyday word names a language only in capitals (`Go`), a letter never does.
    """
    name = word.lower()
    if name == "golang":
        return "go"
    if name not in NAMES or (name in _AMBIGUOUS and not word[:1].isupper()):
        return ""
    return name if len(name) > 1 else ""
