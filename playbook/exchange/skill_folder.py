"""A playbook as a folder of skills: one for each category, and one for each `applies_to`.

The folder is a JSON object, `{"project_id": "…", "files": {"shop-gotchas/SKILL.md": "…"}}`:
text only, so that there is no archive to unpack, and the same rows give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from common import errors
from common.text import plain_text as texts
from common.text.quote import json_string, safe_line
from playbook.exchange import sections, skill_file
from playbook.exchange.ace_format import ParsedPlaybook, RuleLine
from playbook.exchange.import_plan import TAG
from playbook.exchange.skill_file import MAX_NAME, Skill
from playbook.models import PlaybookEntry
from playbook.rule_text import applicability
from projects.models import Project

FILE = "SKILL.md"
MAX_FILES = (
    500  # of one import; an agent that loads so many names has room for little else
)
MAX_PATH = 300  # characters
MAX_TOPICS = 10  # tags that a description lists, the most frequent first
MAX_PREFIX = 24  # characters of the project's name in the name of a skill
MAX_LISTED = 20  # files that one refusal or note lists
# When an agent loads the skill of a category, by the categories that a project starts with.
OCCASIONS = {
    "dependencies": "you add, update or call a dependency",
    "architecture": "you decide where code belongs or how its parts work together",
    "gotchas": "something fails, or you change what is known to fail",
    "patterns": "you write code of a kind that the project has already",
    "best_practices": "you write, test or review code",
    "general": "you start a task",
}
_UNSAFE = re.compile(r"[\\:\x00-\x1f\x7f]")
# Words that a harness keeps for its own skills.
_RESERVED = re.compile(r"anthropic|claude")
_NO_SLUG = re.compile(r"[^a-z0-9]+")


class BrokenSkills(errors.Refusal):
    """The text is not a folder of skills; send {"files": {"NAME/SKILL.md": "text"}}."""

    code = "broken_skills"


class TooManyFiles(errors.Refusal):
    """The folder has too many files for one import; send it in parts."""

    status: ClassVar[int] = 413
    code = "too_many_files"


def _storable(value: str) -> str:
    if problem := texts.find_unstorable(value):
        raise ValueError(problem)
    return value


Text = Annotated[str, AfterValidator(_storable)]


class SkillFolder(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    project_id: Text = ""
    files: dict[Text, Text]


def write(project: Project, entries: Sequence[PlaybookEntry]) -> str:
    """Return the folder of entries, which are sorted by category and label."""
    files = {
        f"{skill.name}/{FILE}": skill_file.write(skill)
        for skill in build_skills(project, entries)
    }
    folder = {"files": files, "project_id": str(project.pk)}
    return json.dumps(folder, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def read(content: str) -> Mapping[str, str]:
    """Return the texts of a folder by their paths.

    Raises BrokenSkills and TooManyFiles.
    """
    try:
        files = SkillFolder.model_validate_json(content).files
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = json_string(".".join(map(str, first["loc"])) or "content")
        raise BrokenSkills(
            f"{BrokenSkills.__doc__} {place}: {first['msg']}."
        ) from error
    if len(files) > MAX_FILES:
        raise TooManyFiles(f"It has {len(files):,} files; {MAX_FILES} are the most.")
    for path in files:
        if problem := _find_problem(path):
            raise BrokenSkills(f"The path {json_string(path)} {problem}.")
    return files


def _find_problem(path: str) -> str:
    if len(path) > MAX_PATH:
        return f"has more than {MAX_PATH} characters"
    if _UNSAFE.search(path):
        return "has a backslash, a colon or a control character"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "leaves its folder, or has an empty part"
    return ""


def parse(files: Mapping[str, str]) -> ParsedPlaybook:
    """Return the rules of every SKILL.md; other files are not read, and a note names them."""
    own = {path: text for path, text in sorted(files.items()) if _is_skill(path)}
    if not own:
        raise BrokenSkills(f"The folder has no {FILE}.")
    parts = [skill_file.parse(text, path) for path, text in own.items()]
    others = sorted(files.keys() - own.keys())
    return ParsedPlaybook(
        tuple(line for part in parts for line in part.lines),
        tuple(line for part in parts for line in part.unparsed),
        (*(note for part in parts for note in part.notes), *_note_others(others)),
    )


def _is_skill(path: str) -> bool:
    return path.rpartition("/")[2] == FILE


def _note_others(paths: Sequence[str]) -> Iterator[str]:
    if paths:
        named = ", ".join(json_string(path) for path in paths[:MAX_LISTED])
        more = f" and {len(paths) - MAX_LISTED} more" if len(paths) > MAX_LISTED else ""
        yield f"Only {FILE} files are read; left out: {named}{more}."


def build_skills(project: Project, entries: Iterable[PlaybookEntry]) -> list[Skill]:
    """Return the skills, those of categories first, then those of `applies_to`."""
    by_category: dict[str, list[PlaybookEntry]] = {}
    by_place: dict[tuple[str, ...], list[PlaybookEntry]] = {}
    for entry in entries:
        if entry.applies_to:
            by_place.setdefault(tuple(sorted(entry.applies_to)), []).append(entry)
        else:
            by_category.setdefault(entry.category, []).append(entry)
    skills = [_of_category(project, *group) for group in by_category.items()]
    skills += [_of_place(project, *group) for group in sorted(by_place.items())]
    return list(_number_names(skills))


def _of_category(
    project: Project, category: str, entries: Sequence[PlaybookEntry]
) -> Skill:
    words = category.replace("_", " ")
    occasion = OCCASIONS.get(category, f"you work on {words}")
    return Skill(
        name=_name(project, category),
        title=f"Rules of the project {project.name}: {words}",
        when=f"Use it in {project.name} when {occasion}.",
        topics=_topics(entries),
        project_id=str(project.pk),
        lines=_to_lines(entries),
    )


def _of_place(
    project: Project, applies_to: tuple[str, ...], entries: Sequence[PlaybookEntry]
) -> Skill:
    names = [value.partition(":")[2] for value in applies_to]
    when = " or ".join(map(_describe_place, applies_to))
    title = f"Rules of the project {project.name} for {', '.join(names)}"
    if applicability.ALWAYS in applies_to:
        names, when = [applicability.ALWAYS], "you start any task"
        title = f"How the project {project.name} works"
    return Skill(
        name=_name(project, *names),
        title=title,
        when=f"Use it in {project.name} when {when}.",
        topics=_topics(entries),
        project_id=str(project.pk),
        lines=_to_lines(entries),
        applies_to=applies_to,
    )


def _describe_place(value: str) -> str:
    kind, _, name = value.partition(":")
    verbs = {"tool": "use", "path": "touch", "language": "write"}
    return f"you {verbs.get(kind, 'use')} {name}"


def _topics(entries: Iterable[PlaybookEntry]) -> tuple[str, ...]:
    """Return the most frequent tags, without those that every import sets."""
    counts = Counter(
        tag
        for entry in entries
        for tag in entry.tags
        if tag not in (TAG, sections.tag(entry.category))
    )
    best = sorted(counts, key=lambda tag: (-counts[tag], tag))
    return tuple(safe_line(tag) for tag in best[:MAX_TOPICS])


def _to_lines(entries: Iterable[PlaybookEntry]) -> tuple[RuleLine, ...]:
    return tuple(
        RuleLine(entry.label, entry.content, section=entry.category)
        for entry in entries
    )


def _name(project: Project, *words: str) -> str:
    """Return a name that the format allows; a harness has the skills of all projects."""
    parts = [_slug(project.name)[:MAX_PREFIX].strip("-"), *map(_slug, words)]
    return "-".join(filter(None, parts))[:MAX_NAME].strip("-") or "rules"


def _slug(text: str) -> str:
    return _NO_SLUG.sub("-", _RESERVED.sub("", text.casefold())).strip("-")


def _number_names(skills: Iterable[Skill]) -> Iterator[Skill]:
    """Put a number behind a name that an earlier skill has."""
    used: set[str] = set()
    for skill in skills:
        name, number = skill.name, 1
        while name in used:
            number += 1
            name = f"{skill.name[: MAX_NAME - 5].rstrip('-')}-{number}"
        used.add(name)
        yield replace(skill, name=name)
