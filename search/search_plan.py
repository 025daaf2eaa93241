"""The data that the lanes of one search share: its plan, and the candidates they find."""

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
    """The terms that the lanes search for, and the rows that the lanes search.

    `rows` is None when the filters match no row. `partitions` are the partition lexemes
    of the project's rows and of the rows that other projects share. Every hit holds all
    `required_lexemes`.
    """

    rows: RowFilter | None
    project_id: uuid.UUID
    partitions: Sequence[str]
    terms: Sequence[Term] = ()
    required_lexemes: Sequence[str] = ()
    # If the filters keep fewer than `enough` candidates, a lane scans the remaining rows.
    enough: int = semantic.DEPTH
    # Whether the filters keep few rows. Then both lanes score all of them, and do not try
    # the best rows of the project first, most of which the filters would drop.
    is_narrow: bool = False

    @property
    def depth(self) -> int:
        """How many rows the semantic lane returns; a search with both lanes needs more rows."""
        return semantic.DEPTH if self.terms else self.enough


class Candidate(NamedTuple):
    """A row that a lane found, with its scores in both lanes; the cosine needs a vector."""

    id: uuid.UUID
    keyword: float
    cosine: float | None


@dataclass(frozen=True)
class ProbeStats:
    """Statistics of one probe of a project's nearest rows.

    If the probe is enough, `nearest` is the number of rows requested. Otherwise
    `nearest` is the number of rows that the probe read. `matches` is the number of
    these rows that pass the filters.
    """

    nearest: int = 0
    matches: int = 0
    is_enough: bool = True


@dataclass(frozen=True)
class Candidates:
    """The candidates found so far, and how each lane found its candidates."""

    rows: list[Candidate] = field(default_factory=list)
    # How many rows each lane found.
    keyword_count: int = 0
    semantic_count: int = 0
    # The semantic lane's last probe of the nearest rows.
    probe: ProbeStats = field(default_factory=ProbeStats)
    # The keyword lane's last query.
    query: CandidateQuery | None = None
