"""Find what a person asks for that says by itself that it lasts: "from now on, use pnpm".

What a person asks next is conversation. Such a sentence is a rule that they would like to have,
so one telling is enough to propose it.
"""

from __future__ import annotations

from ace.rules.feedback import directives, permanence
from ace.rules.feedback.directives import Directive
from ace.rules.task import Task

MAX_REQUESTS = 6  # of one prompt
FIELD = "goal"


def find(task: Task) -> list[Directive]:
    """Return the lasting requests of the prompt that the task is about.

    A goal that an agent wrote itself is nobody's request.
    """
    return find_in(task.text(FIELD)) if task.is_prompt else []


def is_in(prompt: str) -> bool:
    return bool(find_in(prompt))


def find_in(prompt: str) -> list[Directive]:
    own_words = permanence.blank_quotes(prompt)
    found = [
        directive
        for directive in directives.find(prompt)
        if directive.is_complete
        and permanence.says_that_it_lasts(own_words[directive.start : directive.end])
    ]
    return found[:MAX_REQUESTS]
