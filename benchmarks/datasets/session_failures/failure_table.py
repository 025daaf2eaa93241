"""The table of failures by class, as the design page has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.datasets.session_failures.error_line import is_traceback_frame
from benchmarks.datasets.session_failures.failure_class import (
    OF_THE_PROJECT,
    FailureClass,
)
from benchmarks.datasets.session_failures.failure_history import SessionFailure

HEADINGS = [
    "class",
    "failures",
    "seen earlier",
    "repair known",
    "first then worked",
    "said",
    "said, worked",
    "seen in two",
]
REPEATED = 2  # earlier sessions in which a failure had been seen


@dataclass(frozen=True)
class ClassCounts:
    """The failures of one class, and how many of them pass each test."""

    name: str
    failures: int
    seen: int
    known: int
    right: int
    said: int
    said_right: int
    repeated: int


def count_by_class(failures: Sequence[SessionFailure]) -> list[ClassCounts]:
    """Return the counts of the classes of the project, of all of them, and of the others."""
    others = [kind for kind in FailureClass if kind not in OF_THE_PROJECT]
    return [
        *(_count(kind, failures, [kind]) for kind in OF_THE_PROJECT),
        _count("of the project", failures, OF_THE_PROJECT),
        *(_count(kind, failures, [kind]) for kind in others),
    ]


def _count(
    name: str, failures: Sequence[SessionFailure], kinds: Sequence[FailureClass]
) -> ClassCounts:
    mine = [failure for failure in failures if failure.kind in kinds]
    said = [f for f in mine if f.suggestion and f.suggestion.is_said]
    return ClassCounts(
        name=str(name),
        failures=len(mine),
        seen=sum(bool(f.seen_in) for f in mine),
        known=sum(bool(f.known) for f in mine),
        right=sum(f.is_right for f in mine),
        said=len(said),
        said_right=sum(f.is_right for f in said),
        repeated=sum(len(f.seen_in) >= REPEATED for f in mine),
    )


def share_of_banners(failures: Sequence[SessionFailure]) -> float:
    """Return the share of the signatures whose line is a frame or a warning, 0 to 1."""
    lines = [
        signature.partition(": ")[2]
        for failure in failures
        for signature in failure.signatures
        if failure.kind in (FailureClass.SHELL, FailureClass.TOOL)
    ]
    return sum(map(is_traceback_frame, lines)) / len(lines) if lines else 0.0
