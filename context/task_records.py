"""Tell the records of finished tasks that teach a new task nothing from the others.

They come last, two at most; how many were left out is said.

A note says what somebody found worth storing. The record of a task that went well mostly says
that it is done, and its words resemble those of every task about the same part of the project.
Of 122 such records that 40 tasks of recorded sessions were given, one reader found 8 that would
have saved a step, and another reader 9. Of the 11 that either marked, 5 name a rare thing that
the task names too. Of 40 other tasks, two readers found 2 and 3 of 24 records: those 3 are
about a function that the task names, or about its error. The others had in common with the
task a flag, a folder, or only that a person had answered the agent. Without those, the readers
found 0 and 1 of 16 records for 40 more tasks: most had in common with the task the name of a file,
which the list of files says better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from common.text import languages, literals
from memories.models import Memory
from memories.read.search import MemoryHit
from memories.store.search_columns import CORPUS
from projects.models import Project
from search import bm25

# A name is rare if at most this many memories, or this share of them, have it.
RARE_ROWS = 5
RARE_SHARE = 0.02
MAX_NAMES = 8  # names of a task that are looked up
MIN_RESULT = 8  # words of a result that says something
MIN_NAME = 4  # characters of a name
MAX_ROUTINE = 2  # routine records of a context


@dataclass(frozen=True)
class RankedHits:
    """Hits, of which routine records come last, and how many of these were left out."""

    hits: list[MemoryHit]
    left_out: int


def rank_last(
    project: Project, task: str, hits: Sequence[MemoryHit], *, most: int = 0
) -> RankedHits:
    """Put the records that teach the task nothing behind the other hits.

    At most `most` or MAX_ROUTINE of them, whichever is more, are kept.
    """
    kept = _drop_routine(project, task, hits)
    routine = [hit for hit in hits if hit not in kept]
    shown = routine[: max(most, MAX_ROUTINE)]
    return RankedHits([*kept, *shown], len(routine) - len(shown))


def _drop_routine(
    project: Project, task: str, hits: Sequence[MemoryHit]
) -> list[MemoryHit]:
    """Return the hits without records of tasks that went well and teach nothing.

    A record stays if the same was asked in it, or if it names a rare thing that the task
    names too, such as an identifier or the number of an issue.
    """
    routine = (hit.memory for hit in hits if is_routine(hit.memory))
    texts = {memory.pk: _text_of(memory) for memory in routine}
    if not texts:
        return list(hits)
    names = _shared_names(task, texts.values())
    rare = [name for name in names if _is_rare(project, name)]
    return [
        hit
        for hit in hits
        if (pk := hit.memory.pk) not in texts
        or _answers_the_same(hit.memory, task)
        or any(_has_name(texts[pk], name) for name in rare)
    ]


def is_routine(memory: Memory) -> bool:
    """Whether a memory is the record of a task that did not fail and taught nothing.

    What an agent reports as feedback is mostly the person's next request, which teaches
    nothing; what a person, a test or a simulated environment said of the task does.
    """
    is_record = bool(memory.result or memory.kind == Memory.Kind.EPISODE)
    is_attested = memory.metadata.get("feedback_source") not in (None, "agent")
    teaches = memory.lessons or (memory.feedback and is_attested)
    return is_record and not teaches and memory.outcome_word != "failure"


def _answers_the_same(memory: Memory, task: str) -> bool:
    """Whether the record has the same request, and more than a word of what came of it."""
    asked, goal = (" ".join(text.casefold().split()) for text in (task, memory.goal))
    return asked == goal and len(memory.result.split()) >= MIN_RESULT


def _shared_names(task: str, texts: Iterable[str]) -> list[str]:
    """Return the names in a task that one of the texts has too, in lower case."""
    found = filter(_is_of_a_thing, literals.find_identifiers(task))
    known = "\n".join(texts)
    named = {name.lower() for name in found}
    return sorted(name for name in named if _has_name(known, name))[:MAX_NAMES]


def _is_of_a_thing(name: str) -> bool:
    """Whether a name is neither a flag, nor a file or folder, nor a plain word."""
    is_word = name.isalpha() and name.islower()
    is_path = "/" in name or languages.of_path(name)
    return (
        len(name) >= MIN_NAME
        and not (is_word or is_path)
        and not name.startswith(("-", "."))
    )


def _has_name(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_rare(project: Project, name: str) -> bool:
    found = bm25.look_up_terms(
        name,
        project_id=project.pk,
        corpus=CORPUS,
        language=project.options.search.language,
    )
    rarest = next(iter(found.terms), None)
    return rarest is not None and rarest.df <= max(
        RARE_ROWS, RARE_SHARE * rarest.documents
    )


def _text_of(memory: Memory) -> str:
    return "\n".join(_parts(memory)).lower()


def _parts(memory: Memory) -> Iterator[str]:
    yield from (memory.title, memory.goal, memory.content, memory.result)
    yield from memory.steps
    yield from (link.file.file_path for link in memory.file_links.all())
