"""Choose the cure that earlier repairs suggest, and say whether the reader may be told.

A person's own repair is told after one session, as long as it has not failed since. That of
others is told once two persons have shown the same, or a person accepted its lesson.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ace.models import ObservedRepair
from ace.repairs import commands, masks
from ace.repairs.failed_call import FailureKind, FailureSignature
from common.caller import Caller
from common.text import literals, secrets
from memories.models import File
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import STATES_LESSON
from playbook.reading import entry_list
from playbook.rule_text import unsafe_phrases
from projects.models import Project
from projects.own_hosts import find_own_hosts

# One cure has this share of the repairs. Others' were shown by so many, independently.
MIN_SHARE, MIN_SESSIONS, MIN_PERSONS = 0.6, 2, 2
MIN_ALIKE = 0.3  # share of the words of two commands of which one stands for the other
# Edits that say something without their code: what the project chose to do of an issue.
TELLING_EDITS = ("suppression", "wrap")
UNLIKE = 0.15  # a repair of code that is unlike counts less, but never for nothing


class Silence(StrEnum):
    """Why a fix is not said: the reasons in the order in which they are looked for."""

    NO_WORDS = "it cannot be said as one command, path or edit"
    UNCLEAR = "no cure has 60 % of the repairs"
    FAILED_SINCE = "it failed since"
    UNLIKE = "it was seen of other code or of another command"
    NOT_SHARED = "fewer than two persons have shown it, or it leads elsewhere"
    SECRET = "it may have a secret"
    UNSAFE = "its words fail the danger gate"
    FILE_GONE = "it names a file that is gone"
    WITHDRAWN = "its lesson was rejected, or its rule is retired"


@dataclass(frozen=True)
class FixWords:
    """What failed and what then worked; empty if they are the words of one other person.

    `is_sayable` says that they are one command, path, edit or argument, `is_sure` that one
    session is enough, `is_alike` that they are of a command like the one that failed now, and
    `is_shared` that the reader or enough others stand for them.
    """

    kind: str
    cure: str
    failed: str
    worked: str
    is_sayable: bool = True
    is_sure: bool = True
    is_alike: bool = True
    is_shared: bool = True


@dataclass(frozen=True)
class ChosenCure:
    """The cure with the largest share of the repairs of a signature.

    `repairs` are its rows that worked and `uses` all of its rows, newest first. `share` is
    from 0 to 1.
    """

    signature: FailureSignature
    share: float
    repairs: tuple[ObservedRepair, ...]
    uses: tuple[ObservedRepair, ...]

    @property
    def newest(self) -> ObservedRepair:
        return self.repairs[0]

    @property
    def sessions(self) -> int:
        return len({row.session for row in self.repairs})

    @property
    def times(self) -> int:
        return sum(row.times for row in self.repairs)

    @property
    def certainty(self) -> tuple[bool, float]:
        """What a report with several issues is ordered by: the surest cure first."""
        count = len(self.repairs)
        is_clear = self.share >= MIN_SHARE and self.sessions >= MIN_SESSIONS
        return is_clear, self.share * count / (count + 1)

    @property
    def has_failed_since(self) -> bool:
        """Whether the newest use failed; of several persons, that of more than one."""
        newest = {row.person: row.has_worked for row in reversed(self.uses)}
        failed = [person for person, has_worked in newest.items() if not has_worked]
        return len(failed) >= min(len(newest), MIN_PERSONS)


def choose(
    signature: FailureSignature, rows: Sequence[ObservedRepair]
) -> ChosenCure | None:
    """Return the cure that the rows suggest; the rows are newest first.

    A row counts by how much its line of code is like the one that failed. Where no code is
    known, all rows of a person count the same. A person counts once, however many the rows.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    of_person = Counter(row.person for row in rows if row.has_worked)
    for row in rows:
        if row.has_worked:
            likeness = UNLIKE + _likeness(signature, row)
            weights[row.cure] += likeness / of_person[row.person]
    if not weights:
        return None
    best = max(weights, key=lambda cure: weights[cure])
    uses = tuple(row for row in rows if row.cure == best)
    worked = tuple(row for row in uses if row.has_worked)
    share = weights[best] / sum(weights.values())
    return ChosenCure(signature, share, worked, uses)


def choose_words(cure: ChosenCure, trusted: Sequence[ObservedRepair]) -> FixWords:
    """Return the words that may be given: those of a trusted repair, as they are.

    Otherwise two persons must have shown the same words, in two sessions. Of an edit only its
    kind is given then, or where the code is unlike the code that failed now.
    """
    by_words: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in cure.repairs:
        by_words[str([row.seen["failed"], row.seen["worked"]])].append(row)
    rows = trusted or max(by_words.values(), key=_count_persons)
    row = max(rows, key=lambda each: _likeness(cure.signature, each))
    is_near = not cure.signature.source or _is_near(cure, row)
    is_kind_only = row.kind == FailureKind.LINT and not (trusted and is_near)
    shown = cure.repairs if is_kind_only else rows
    return FixWords(
        kind=row.kind,
        cure=row.cure,
        failed="" if is_kind_only else row.seen["failed"],
        worked="" if is_kind_only else row.seen["worked"],
        is_sayable=row.seen["is_sayable"]
        and not (is_kind_only and row.cure not in TELLING_EDITS),
        is_sure=row.seen["is_sure"] or cure.sessions >= MIN_SESSIONS,
        is_alike=_is_alike(cure, row),
        is_shared=bool(trusted)
        or (_is_shared(shown) and cure.sessions >= MIN_SESSIONS),
    )


def _is_near(cure: ChosenCure, row: ObservedRepair) -> bool:
    return _likeness(cure.signature, row) >= MIN_ALIKE


def _is_alike(cure: ChosenCure, row: ObservedRepair) -> bool:
    """Return whether a repair is of code or a command like the one that failed now.

    A command about one test is about no other. Of code, two sessions may agree instead.
    """
    signature, is_near = cure.signature, _is_near(cure, row)
    if not signature.source:
        return True
    if not signature.command:
        return is_near or cure.sessions >= MIN_SESSIONS
    is_same = commands.whole(signature.command) == row.seen["failed"]
    return is_same or (is_near and not commands.is_of_one_moment(row.seen["worked"]))


def find_silence(project: Project, cure: ChosenCure, words: FixWords) -> Silence | None:
    """Return the first reason for silence, or None if the fix may be said."""
    reasons = {
        Silence.NO_WORDS: not words.is_sayable,
        Silence.UNCLEAR: cure.share < MIN_SHARE or not words.is_sure,
        Silence.FAILED_SINCE: cure.has_failed_since,
        Silence.UNLIKE: not words.is_alike,
        Silence.NOT_SHARED: not words.is_shared,
    }
    found = next((reason for reason, holds in reasons.items() if holds), None)
    return found or _find_danger(project, cure.signature.name, words)


def _find_danger(project: Project, name: str, words: FixWords) -> Silence | None:
    """Look through all that the reader may run or write, and through the error."""
    if not secrets.is_clean(words.worked):
        return Silence.SECRET
    text = "\n".join([words.worked, words.failed, name])
    if unsafe_phrases.find_phrases(text, find_own_hosts(project)):
        return Silence.UNSAFE
    paths = literals.find_paths(words.worked)
    files = File.objects.filter(project=project, file_path__in=paths) if paths else ()
    return Silence.FILE_GONE if any(file.is_gone for file in files) else None


def _count_persons(rows: Sequence[ObservedRepair]) -> int:
    return len({row.person for row in rows})


def _is_shared(rows: Sequence[ObservedRepair]) -> bool:
    leads_elsewhere = any(row.seen["leads_elsewhere"] for row in rows)
    return _count_persons(rows) >= MIN_PERSONS and not leads_elsewhere


def _likeness(signature: FailureSignature, row: ObservedRepair) -> float:
    """Return how much two lines of code or two commands are alike; 0 if one is not known."""
    code = signature.source
    known = row.seen.get("source", "")
    return masks.common_share(code, known) if code and known else 0.0


@dataclass(frozen=True)
class CureLesson:
    """A lesson that a repair taught, and what became of it.

    `entry` is its rule if that is live, and `is_trusted` says that its words are given to
    everybody: a person read them, or a key that may attest reported them.
    """

    repair: ObservedRepair
    text_hash: str
    entry: PlaybookEntry | None
    is_trusted: bool
    is_withdrawn: bool


@dataclass(frozen=True)
class CureLessons:
    """The lessons that repairs taught, and what people decided about each."""

    lessons: Sequence[CureLesson] = ()

    def of(self, repairs: Iterable[ObservedRepair]) -> CureLessons:
        ids = {row.pk for row in repairs}
        return CureLessons([one for one in self.lessons if one.repair.pk in ids])

    @property
    def entry(self) -> PlaybookEntry | None:
        return next((one.entry for one in self.lessons if one.entry), None)

    @property
    def rules(self) -> frozenset[uuid.UUID]:
        """The live rules that state the cure."""
        return frozenset(one.entry.pk for one in self.lessons if one.entry)

    @property
    def trusted(self) -> list[ObservedRepair]:
        worked = (one for one in self.lessons if one.repair.has_worked)
        return [one.repair for one in worked if one.entry and one.is_trusted]

    @property
    def text_hashes(self) -> frozenset[str]:
        return frozenset(one.text_hash for one in self.lessons)

    @property
    def are_against(self) -> bool:
        """Whether a lesson was withdrawn, and none is a live rule."""
        return not self.rules and any(one.is_withdrawn for one in self.lessons)


def read_lessons(
    project: Project, repairs: Iterable[ObservedRepair], caller: Caller
) -> CureLessons:
    """Return the lessons that the runs of these repairs taught of them."""
    by_run: defaultdict[uuid.UUID, list[ObservedRepair]] = defaultdict(list)
    for row in repairs:
        by_run[row.run_id].append(row)
    if not by_run:
        return CureLessons()
    visible = PlaybookDelta.objects.visible_to(caller)
    deltas = visible.filter(
        project=project, run_id__in=by_run, operation__in=STATES_LESSON
    )
    found = [
        (delta, row)
        for delta in deltas.with_entry().defer("gates", "payload")
        for row in by_run[delta.run_id]
        if is_about(delta, _words(delta), row)
    ]
    if not found:
        return CureLessons()
    withdrawn = set(deltas.of_withdrawn_lessons().values_list("pk", flat=True))
    contested = entry_list.contested_ids(project)
    return CureLessons(
        [_lesson(delta, row, withdrawn, contested) for delta, row in found]
    )


def _lesson(
    delta: PlaybookDelta,
    row: ObservedRepair,
    withdrawn: set[uuid.UUID],
    contested: set[uuid.UUID],
) -> CureLesson:
    entry = delta.entry
    is_live = (
        delta.status in PlaybookDelta.IN_FORCE
        and entry is not None
        and delta.operation != "vote"  # it does not speak of the rule's words
        and entry.status == PlaybookEntry.EntryStatus.ACTIVE
        and entry.pk not in contested
    )
    status = PlaybookDelta.DeltaStatus
    was_read = delta.status in (status.ACCEPTED, status.EDITED)
    return CureLesson(
        repair=row,
        text_hash=delta.similarity_hash,
        entry=entry if is_live else None,
        is_trusted=was_read
        or (row.run.is_attested and not row.seen["leads_elsewhere"]),
        is_withdrawn=delta.pk in withdrawn,
    )


def _words(delta: PlaybookDelta) -> str:
    """Return the words of a lesson: once it is in force, those of its rule."""
    if delta.entry and delta.status in PlaybookDelta.IN_FORCE:
        return delta.entry.content
    return delta.content


def is_about(delta: PlaybookDelta, content: str, row: ObservedRepair) -> bool:
    """Return whether a rule came of a repair: it quotes both calls and has what worked.

    `content` is the rule's text, as it is or as the delta would make it.
    """
    if delta.run_id != row.run_id:
        return False
    fields = [str(q.get("field", "")) for q in delta.evidence if isinstance(q, dict)]
    quotes_both = all(
        any(field.startswith(f"tool_usage.{call}.") for field in fields)
        for call in (row.seen["failed_call"], row.seen["fixed_call"])
    )
    return quotes_both and _states(content, row)


def _states(content: str, row: ObservedRepair) -> bool:
    """Return whether a text has the new words of a cure, or its whole command."""
    worked: str = row.seen["worked"] or row.seen["failed"]
    new = set(_WORD.findall(worked)) - set(_WORD.findall(row.seen["failed"]))
    words = [word.partition("=")[0] if word.startswith("-") else word for word in new]
    return worked in content or (bool(words) and all(word in content for word in words))


_WORD = re.compile(r"[^\s`\"']+")
