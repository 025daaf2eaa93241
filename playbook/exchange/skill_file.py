"""Write and read a `SKILL.md`, the file by which coding agents exchange know-how.

    ---
    name: "shop-gotchas"
    description: "Rules of the project shop … Use this skill when …"
    metadata:
      source: agent-memory
    ---
    # Rules of shop: gotchas
    ## When to use
    ## gotchas
    - [gotchas-00042] the text

The front matter is YAML. A harness reads all names and descriptions, and the rest of a file
when the agent needs it. Reading also takes files of others, which have no labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from common.text import prompt_injection
from common.text.quote import json_string, safe_line
from playbook.exchange import ace_format, markdown_rules
from playbook.exchange.ace_format import ParsedPlaybook, RuleLine
from playbook.rule_text import applicability

SOURCE = "agent-memory"  # marks a file that an export wrote
# Limits of the format (agentskills.io), in characters.
MAX_NAME, MAX_DESCRIPTION = 64, 1_024
MAX_FRONT_ROWS = 100  # rows of a front matter that is read
APPLIES_TO = "metadata.applies-to"
_MARK = "---"
_ANGLES = str.maketrans("<>", "()")  # a harness takes `<` for the start of a tag


@dataclass(frozen=True)
class Skill:
    """A skill; `when` says when an agent loads it."""

    name: str
    title: str
    when: str
    topics: tuple[str, ...]
    project_id: str
    lines: Sequence[RuleLine]
    applies_to: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        topics = f" Topics: {', '.join(self.topics)}." if self.topics else ""
        text = f"{self.title}. {self.when}{topics}".translate(_ANGLES)
        return safe_line(text, MAX_DESCRIPTION)


def write(skill: Skill) -> str:
    """Return the file. No text of a rule is read as another part of it.

    The rules keep their lines; prompt injections in them are defused.
    """
    rows = [
        _MARK,
        f"name: {_scalar(skill.name)}",  # unquoted, `yes` is a boolean and `7` a number
        f"description: {_scalar(skill.description)}",
        "metadata:",
        f"  source: {SOURCE}",
        f"  project: {_scalar(skill.project_id)}",
    ]
    if skill.applies_to:
        places = ", ".join(map(safe_line, skill.applies_to))
        rows.append(f"  applies-to: {_scalar(places)}")
    rows += [_MARK, "", f"# {safe_line(skill.title)}", "", "## When to use", ""]
    rows.append(safe_line(skill.when))
    section = ""
    for line in skill.lines:
        if line.section != section:
            section = line.section
            rows += ["", f"## {safe_line(section)}", ""]
        rows += ace_format.format_item(line.label, safe_text(line.text))
    return "".join(f"{row}\n" for row in rows)


def safe_text(text: str) -> str:
    """Return the text of a rule as a file has it."""
    return ace_format.canonical(prompt_injection.defuse(ace_format.canonical(text)))


def _scalar(text: str) -> str:
    """Return a text in YAML: a JSON string is one, too."""
    return json.dumps(text, ensure_ascii=False)


def parse(text: str, path: str) -> ParsedPlaybook:
    """Return the rules of a file: those with labels, list items and instructions."""
    rows = ace_format.split_lines(text.removeprefix("\ufeff"))
    end = _find_front_matter(rows)
    front = dict(_read_front_matter(rows[:end]))
    body = ["" for _ in rows[:end]] + rows[end:]
    labelled = ace_format.parse("\n".join(body), has_code=True)
    empty = [each for each in labelled.unparsed if each.why == ace_format.NO_TEXT]
    for line in labelled.lines:
        body[line.number - 1 : line.last] = [""] * (line.last - line.number + 1)
    for each in empty:
        body[each.line - 1] = ""
    others, unparsed = markdown_rules.parse(body)
    values = (value.strip() for value in front.get(APPLIES_TO, "").split(","))
    applies_to = applicability.keep_valid(values)
    lines = sorted([*labelled.lines, *others], key=lambda line: line.number)
    return ParsedPlaybook(
        tuple(replace(line, file=path, applies_to=applies_to) for line in lines),
        tuple(replace(each, file=path) for each in [*empty, *unparsed]),
        tuple(f"{json_string(path)}: {note}" for note in labelled.notes),
    )


def _find_front_matter(rows: Sequence[str]) -> int:
    """Return the number of rows of the front matter; 0 if there is none."""
    if not rows or rows[0].rstrip() != _MARK:
        return 0
    for number, row in enumerate(rows[1:MAX_FRONT_ROWS], start=1):
        if row.rstrip() == _MARK:
            return number + 1
    return 0


def _read_front_matter(rows: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys and the plain or quoted values, also those one level below a key.

    Other values of YAML, such as lists, are not needed.
    """
    above = ""
    for row in rows[1:-1]:
        key, colon, value = row.partition(":")
        if not colon:
            continue
        name, text = key.strip(), _unquote(value.strip())
        if key[:1] in (" ", "\t"):
            yield f"{above}.{name}", text
        else:
            above = name
            yield name, text


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value
