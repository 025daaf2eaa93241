"""TODO docstring."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from search import semantic
from search.bm25 import Term
from search.postings import CandidateQuery
from search.row_filter import RowFilter


@dataclass(frozen=True)
class SearchPlan:
    """What the lanes look for, and among which rows; None: the filters leave nothing.

    `arms` are the lexemes of the project's rows and of what is shared with it, `held`
    those that every row holds.
    """

    rows: RowFilter | None
    project_id: uuid.UUID
    arms: Sequence[str]
    terms: Sequence[Term] = ()
    held: Sequence[str] = ()
    # Where the filters leave fewer than so many of the rows first looked at, others are.
    enough: int = semantic.DEPTH

    @property
    def depth(self) -> int:
        """How many rows the semantic lane gives: of one lane none are needed to fuse."""
        return semantic.DEPTH if self.terms else self.enough


class Candidate(NamedTuple):
    """A row that a lane found, scored in both; no cosine without a vector."""

    id: uuid.UUID
    keyword: float
    cosine: float | None


@dataclass(frozen=True)
class ProbeStats:
    """How many of a project's nearest rows were asked for (where too few pass: were
    seen), how many of them pass, and whether that is enough."""

    nearest: int = 0
    passed: int = 0
    is_enough: bool = True


@dataclass(frozen=True)
class Candidates:
    candidates: list[Candidate] = field(default_factory=list)
    # How many rows each lane found.
    by_words: int = 0
    by_meaning: int = 0
    # The last look at the nearest rows.
    look: ProbeStats = field(default_factory=ProbeStats)
    # What the keyword lane asked for, at last.
    sought: CandidateQuery | None = None
