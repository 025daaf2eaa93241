"""Write the rules about tools and paths as `SKILL.md` files, which coding agents load by need.

    ---
    name: "shop-gh"
    description: "Rules of the project shop for gh. Use it in shop when you use gh."
    metadata:
      source: agent-memory
      project: "01a20f4e-…"
    ---
    # Rules of the project shop for gh
    - [gotchas-00042] the text

The front matter is YAML. A harness reads all names and descriptions when it starts, and the rest
of a file when the agent needs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from common.text import prompt_injection
from common.text.quote import safe_line
from playbook.exchange import ace_format
from playbook.models import PlaybookEntry
from projects.models import Project

FILE = "SKILL.md"
SOURCE = "agent-memory"  # marks a file that an export wrote
# Limits of the format (agentskills.io), in characters.
MAX_NAME, MAX_DESCRIPTION = 64, 1_024
MAX_PREFIX = 24  # characters of the project's name in the name of a skill
VERBS = {"tool": "use", "path": "touch", "language": "write"}
# Words that a harness keeps for its own skills.
_RESERVED = re.compile(r"anthropic|claude")
_NO_SLUG = re.compile(r"[^a-z0-9]+")
_ANGLES = str.maketrans("<>", "()")  # a harness takes `<` for the start of a tag
Places = tuple[str, ...]


def write(project: Project, entries: Iterable[PlaybookEntry]) -> str:
    """Return {"project_id": …, "files": {path: text}}, one file for each `applies_to`."""
    by_places: dict[Places, list[PlaybookEntry]] = {}
    for entry in entries:
        if any(value.startswith(("tool:", "path:")) for value in entry.applies_to):
            by_places.setdefault(tuple(sorted(entry.applies_to)), []).append(entry)
    files: dict[str, str] = {}
    for places, rules in sorted(by_places.items()):
        name = _free_name(project, places, files)
        files[_path(name)] = _write_file(project, name, places, rules)
    folder = {"files": files, "project_id": str(project.pk)}
    return json.dumps(folder, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def safe_text(text: str) -> str:
    """Return the text of a rule as a file has it: prompt injections are defused."""
    return ace_format.canonical(prompt_injection.defuse(ace_format.canonical(text)))


def _write_file(
    project: Project, name: str, places: Places, rules: Iterable[PlaybookEntry]
) -> str:
    """Return the file. No text of a rule is read as another part of it."""
    title = f"Rules of the project {project.name} for {', '.join(map(_name, places))}"
    when = " or ".join(f"you {VERBS[_kind(place)]} {_name(place)}" for place in places)
    whole = f"{title}. Use it in {project.name} when {when}."
    rows = [
        "---",
        f"name: {_scalar(name)}",  # unquoted, `yes` is a boolean and `7` a number
        f"description: {_scalar(safe_line(whole.translate(_ANGLES), MAX_DESCRIPTION))}",
        "metadata:",
        f"  source: {SOURCE}",
        f"  project: {_scalar(str(project.pk))}",
        *("---", "", f"# {safe_line(title)}", ""),
    ]
    for rule in rules:
        rows += ace_format.format_item(rule.label, safe_text(rule.content))
    return "".join(f"{row}\n" for row in rows)


def _free_name(project: Project, places: Places, taken: Mapping[str, str]) -> str:
    """Return a name that the format allows, and that no earlier skill has."""
    prefix = _slug(project.name)[:MAX_PREFIX].strip("-")
    parts = [prefix, *(_slug(_name(place)) for place in places)]
    base = "-".join(filter(None, parts))[:MAX_NAME].strip("-") or "rules"
    name, number = base, 1
    while _path(name) in taken:
        number += 1
        name = f"{base[: MAX_NAME - 5].rstrip('-')}-{number}"
    return name


def _path(name: str) -> str:
    return f"{name}/{FILE}"


def _kind(place: str) -> str:
    return place.partition(":")[0]


def _name(place: str) -> str:
    return place.partition(":")[2]


def _slug(text: str) -> str:
    return _NO_SLUG.sub("-", _RESERVED.sub("", text.casefold())).strip("-")


def _scalar(text: str) -> str:
    """Return a text in YAML: a JSON string is one, too."""
    return json.dumps(text, ensure_ascii=False)
