"""Replay sessions in order of time, and compare each failure with the earlier sessions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.judge.error_line import BannerLines
from bench.judge.failure_class import FailureClass, classify
from bench.judge.lint_issues import read_issues
from bench.judge.repairs import SessionRepair, find_repair
from bench.judge.session_calls import (
    RecordedSession,
    SessionCall,
)
from bench.judge.shell_command import share_of_words
from bench.judge.signatures import sign

# When a suggestion is said: the share of the earlier repairs that are like it, the sessions
# in which it was seen, and the likeness of the lines of code that a linter named.
MIN_SHARE, MIN_SESSIONS, MIN_SOURCE = 0.6, 2, 0.4
SAID = (FailureClass.LINT, FailureClass.SHELL, FailureClass.TOOL, FailureClass.PATH)


@dataclass(frozen=True)
class PastRepair:
    """A repair of an earlier session, and the task in which the signature failed.

    `cured_in` is the task in which the repair worked.
    """

    session: int
    task: int | None
    cured_in: int | None
    repair: SessionRepair


@dataclass(frozen=True)
class Suggestion:
    """The first suggestion for a failure; `is_said` if it passes the gate."""

    signature: str
    kind: str
    is_said: bool


@dataclass(frozen=True)
class SessionFailure:
    """A failed call, what then worked by signature, and what earlier sessions knew."""

    session: int
    call: SessionCall
    kind: FailureClass
    signatures: tuple[str, ...]
    repairs: Mapping[str, SessionRepair]
    # The earlier sessions in which one of the signatures failed.
    seen_in: frozenset[int]
    # The repairs of earlier sessions by signature.
    known: Mapping[str, tuple[PastRepair, ...]]
    suggestion: Suggestion | None

    @property
    def is_right(self) -> bool:
        """Whether the first suggestion is what then worked; "again" suggests nothing."""
        if self.suggestion is None or not self.suggestion.kind:
            return False
        then = self.repairs.get(self.suggestion.signature)
        return then is not None and then.kind == self.suggestion.kind


class FailureHistory:
    """The failures and the repairs of the sessions so far."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, set[int]] = defaultdict(set)
        self._repairs: defaultdict[str, list[PastRepair]] = defaultdict(list)
        self._banners = BannerLines()

    def replay(self, number: int, session: RecordedSession) -> list[SessionFailure]:
        """Return the failures of the next session, and then remember them."""
        found = [
            self._describe(number, call, kind, session.calls[at + 1 :])
            for at, call in enumerate(session.calls)
            if (kind := classify(call)) is not None
        ]
        self._remember(number, session, found)
        return found

    def _describe(
        self,
        number: int,
        call: SessionCall,
        kind: FailureClass,
        later: Sequence[SessionCall],
    ) -> SessionFailure:
        signatures = sign(call, kind, self._banners)
        repairs: dict[str, SessionRepair] = {}
        for each in signatures:
            if repair := find_repair(call, kind, each, later, self._banners):
                repairs[each] = repair
        seen = [self._seen[each] for each in signatures if each in self._seen]
        known = {
            each: tuple(self._repairs[each])
            for each in signatures
            if each in self._repairs
        }
        return SessionFailure(
            session=number,
            call=call,
            kind=kind,
            signatures=signatures,
            repairs=repairs,
            seen_in=frozenset().union(*seen),
            known=known,
            suggestion=_suggest(call, kind, known),
        )

    def _remember(
        self, number: int, session: RecordedSession, found: Iterable[SessionFailure]
    ) -> None:
        task_of = {call.id: call.task for call in session.calls}
        for failure in found:
            for each in failure.signatures:
                self._seen[each].add(number)
            for each, repair in failure.repairs.items():
                cured_in = task_of[repair.call_ids[-1]]
                past = PastRepair(number, failure.call.task, cured_in, repair)
                self._repairs[each].append(past)
        worked = (
            call.result
            for call in session.calls
            if call.command and classify(call) is None and not call.is_error
        )
        self._banners.add(number, worked)


def find_failures(sessions: Iterable[RecordedSession]) -> list[SessionFailure]:
    """Return the failures of all sessions, in order."""
    history = FailureHistory()
    return [
        failure
        for number, session in enumerate(sessions)
        for failure in history.replay(number, session)
    ]


def _suggest(
    call: SessionCall,
    kind: FailureClass,
    known: Mapping[str, tuple[PastRepair, ...]],
) -> Suggestion | None:
    """Return the suggestion for the first signature with a known repair."""
    for signature, repairs in known.items():
        source = _source_of(call, signature) if kind is FailureClass.LINT else ""
        alike = _most_alike(source, repairs)
        counts = Counter(past.repair.kind for past in repairs)
        best = alike.kind if alike else counts.most_common(1)[0][0]
        sessions = {p.session for p in repairs if p.repair.kind == best}
        is_clear = counts[best] / len(repairs) >= MIN_SHARE or alike is not None
        is_said = (
            kind in SAID and is_clear and bool(best) and len(sessions) >= MIN_SESSIONS
        )
        return Suggestion(signature, best, is_said)
    return None


def _source_of(call: SessionCall, signature: str) -> str:
    issues = read_issues(call.result)
    return next((i.source for i in issues if i.signature == signature), "")


def _most_alike(source: str, repairs: Sequence[PastRepair]) -> SessionRepair | None:
    """Return the repair whose line of code is most like this one, if one is like it."""
    words = source.split()
    scored = [
        (share_of_words(words, past.repair.source.split()), past.repair)
        for past in repairs
        if source and past.repair.source
    ]
    likeness, repair = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return repair if likeness >= MIN_SOURCE else None
