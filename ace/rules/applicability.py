"""Find where a lesson applies, from its evidence: tools, paths, languages, or always."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.repairs import commands
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson
from common.text import languages, literals

ALWAYS = "always"
MAX_PATHS = 3
# The evidence of lessons about a call, and of lessons about how people want work done.
_OF_CALLS = frozenset({"failed_call", "fixed_call"})
_OF_CHECKS = frozenset({"check_failed"})
_OF_WISHES = frozenset({"wish"})
# What people speak of when they say how work is to be done, whatever it is about.
_PROCESS = re.compile(
    r"\b(?:commit(?:s|ted|ting)?|pull requests?|PRs?|merge requests?|(?:feature |topic )?branch"
    r"(?:es)?|(?:force.)?push(?:es|ed|ing)? (?:to|the|a|your|anything|directly|straight)"
    r"|rebas(?:e|ed|ing)|changelogs?|release notes?|code reviews?|reviewers?|lint(?:s|er|ers"
    r"|ing)?|formatter|test suite|pre-commit|type ?checks?|simplif(?:y|ier)"
    r"|(?:add|write|run|extend|update) (?:\w{1,20} ){0,3}tests?"
    r"|(?:ask|consult|check with|confirm with) (?:me|us|people|the (?:user|team|owner|person))"
    r"|(?:answer|reply|respond) (?:\w{1,20} ){0,2}in (?:English|German|French|Spanish|Chinese"
    r"|Japanese))\b",
    re.IGNORECASE,
)
# A condition that is a step of the work, not a topic.
_STEP = re.compile(
    r"\b(?:finish|commit|push|merg|hand|deliver|complet|done|open|chang|edit|start|every|each"
    r"|any|task|work)\w{0,10}\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][\w+#-]{0,30}")


def find(task: Task, lesson: TaskLesson) -> list[str]:
    """Return where the lesson applies, most telling first; nothing if it is about a topic."""
    if _is_process(lesson):
        return [ALWAYS]
    found = [*_tools(task, lesson), *_paths(lesson.content)]
    return list(dict.fromkeys(found or _languages(lesson.content)))


def _is_process(lesson: TaskLesson) -> bool:
    """Whether the lesson says how the project works, whatever a task is about."""
    kinds = {span.kind for span in lesson.evidence}
    if kinds & (_OF_CHECKS | _OF_WISHES):
        return True
    is_of_people = any(span.field in ("feedback", "goal") for span in lesson.evidence)
    if not is_of_people or (lesson.condition and not _STEP.search(lesson.condition)):
        return False
    return bool(_PROCESS.search(lesson.content)) and not [*_paths(lesson.content)]


def _tools(task: Task, lesson: TaskLesson) -> Iterator[str]:
    """Yield the program or tool whose call was repaired; tools for files are in every task."""
    for span in lesson.evidence:
        call = task.call(span.field)
        if call and span.kind in _OF_CALLS and (call.command or call.is_of_domain):
            name = commands.tool_label(call)
            if name and name in lesson.content:
                yield f"tool:{name}"


def _paths(text: str) -> Iterator[str]:
    for path in literals.find_paths(text)[:MAX_PATHS]:
        if "/" in path and not path.startswith(("/", "~", "..")):
            yield f"path:{path}"


def _languages(text: str) -> Iterator[str]:
    """Yield the languages that the lesson names behind its first word."""
    for word in _WORD.findall(text)[1:]:
        if name := languages.of_word(word):
            yield f"language:{name}"
