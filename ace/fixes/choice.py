"""Choose the cure that earlier repairs of one signature suggest; no query is made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ace.models import ObservedRepair
from ace.rules.failures import masks
from ace.rules.failures.failed_call import FailureSignature

# The gate: one cure has this share of the repairs, and was seen in so many sessions. What
# the person's own sessions showed, or a person accepted, needs one session.
MIN_SHARE, MIN_SESSIONS = 0.6, 2
# A repair of code that is unlike counts less, but never for nothing.
UNLIKE = 0.15
FAILED_USES = 2  # the last uses of a fix that failed end it


@dataclass(frozen=True)
class ChosenCure:
    """The cure with the largest share of the repairs of a signature.

    `repairs` are its rows, newest first. `share` is from 0 to 1.
    """

    signature: FailureSignature
    share: float
    repairs: tuple[ObservedRepair, ...]
    has_failed_lately: bool

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
    def is_clear(self) -> bool:
        """Whether the cure passes the gate."""
        return self.is_alone and self.sessions >= MIN_SESSIONS

    @property
    def is_alone(self) -> bool:
        """Whether hardly another cure is known."""
        return self.share >= MIN_SHARE

    @property
    def certainty(self) -> tuple[bool, float]:
        """What a report with several issues is ordered by: the surest cure first."""
        count = len(self.repairs)
        return self.is_clear, self.share * count / (count + 1)

    def example(self, rows: Sequence[ObservedRepair]) -> ObservedRepair:
        """Return the row whose code is most like the code that failed, or the newest."""
        return max(rows, key=lambda row: _likeness(self.signature, row))


def choose(
    signature: FailureSignature, rows: Sequence[ObservedRepair]
) -> ChosenCure | None:
    """Return the cure that the rows suggest; the rows are newest first.

    A row counts by how much its line of code is like the one that failed. Where no code is
    known, all rows of a person count the same. A person counts once, however many the rows.
    """
    by_cure: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    weights: defaultdict[str, float] = defaultdict(float)
    of_person = Counter(row.person for row in rows if row.has_worked)
    for row in rows:
        if row.has_worked:
            by_cure[row.cure].append(row)
            likeness = UNLIKE + _likeness(signature, row)
            weights[row.cure] += likeness / of_person[row.person]
    if not by_cure:
        return None
    best = max(weights, key=lambda cure: weights[cure])
    repairs = tuple(by_cure[best])
    return ChosenCure(
        signature=signature,
        share=weights[best] / sum(weights.values()),
        repairs=repairs,
        has_failed_lately=has_failed_lately([r for r in rows if r.cure == best]),
    )


def has_failed_lately(uses: Sequence[ObservedRepair]) -> bool:
    """Return whether the last uses of a cure failed; of several persons, one use of each."""
    persons = {row.person: row for row in reversed(uses)}
    last = sorted(persons.values(), key=uses.index) if len(persons) > 1 else uses
    newest = [row.has_worked for row in last[:FAILED_USES]]
    return len(newest) == FAILED_USES and not any(newest)


def _likeness(signature: FailureSignature, row: ObservedRepair) -> float:
    """Return how much two lines of code are alike, 0 to 1; 0 if one is not known."""
    code = signature.issue.source if signature.issue else ""
    known = row.seen.get("source", "")
    return masks.common_share(code, known) if code and known else 0.0
