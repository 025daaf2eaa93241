"""Choose one of the six memory types for a finished task, from its words and its outcome."""

from __future__ import annotations

import re

from ace.task.task import Task
from memories.store import memory_types
from memories.store.memory_types import MAX_TEXT, MemoryType

# The question is at the start of a goal; boilerplate and code follow.
MAX_GOAL = 1_200

_CODE_NOUN = memory_types.whole_words(
    r"code|code ?base|repo(?:sitory)?|modules?|files?|functions?|class(?:es)?|methods?"
    r"|services?|packages?|API|database|schema|tables?|architecture|systems?|components?"
    r"|endpoints?|pipelines?|structure|layout|config(?:uration)?|settings|entry ?points?"
    r"|project|apps?|layers?|tests?|handlers?|middleware|routes?|models?"
)
_CHANGE_GOAL = memory_types.whole_words(
    r"add|implement|create|build|write|refactor|rename|migrate|upgrade|remove|update"
    r"|support|introduce|extend|convert|port|optimi[sz]e|improve"
)


def memory_type(task: Task, outcome: str) -> MemoryType:
    """Return the memory type of a finished task; a failed task is a warning."""
    goal = memory_types.without_absences(task.goal[:MAX_GOAL])
    said = memory_types.without_absences(
        f"{task.result[:MAX_TEXT]}\n{task.feedback[:MAX_TEXT]}"
    )
    if outcome == "failure":
        return "warning"
    if not _is_prose(goal):
        return "learning"
    if _is_fix(goal, said):
        return "error_fix"
    if memory_types.DECISION.search(goal):
        return "decision"
    if _asks_about_code(goal):
        return "codebase_knowledge"
    if memory_types.DISCOVERY.search(goal):
        return "discovery"
    return (
        memory_types.type_of_statement(said) if _is_prose(task.result) else "learning"
    )


def _is_fix(goal: str, said: str) -> bool:
    if memory_types.FIX_GOAL.search(goal):
        return True
    return bool(
        memory_types.TROUBLE.search(goal) and memory_types.FIX_DONE.search(said)
    )


def _asks_about_code(goal: str) -> bool:
    asks = memory_types.CODEBASE.search(goal) and not _CHANGE_GOAL.match(goal.lstrip())
    return bool(asks and _CODE_NOUN.search(goal))


_CODE = re.compile(r"^(?:def |fn |pub fn |class |use |import |from |diff --git|--- a/)",
                   re.MULTILINE)  # fmt: skip


def _is_prose(text: str) -> bool:
    """Return whether the text is prose. The word "choose" in code is not a decision."""
    return not _CODE.search(text[:MAX_TEXT])
