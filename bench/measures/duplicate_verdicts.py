"""Measure how often the duplicate verdict is right, and the cost of its guard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.datasets import labelled_pairs
from bench.datasets.labelled_pairs import PairSet, TextPair
from bench.options import BenchmarkOptions
from bench.report.progress_bar import ProgressBar
from inference.embedding import active_model
from memories import near_duplicates
from memories.models import Memory
from playbook.entries import matches, neighbours
from playbook.models import PlaybookEntry

HELP = "Precision and recall of the duplicate verdict, on labelled pairs."
BATCH = 100  # texts in one embedding call


@dataclass(frozen=True)
class ScoredPair:
    """A pair of texts with the cosine of their vectors."""

    pair: TextPair
    cosine: float


Verdict = Callable[[ScoredPair], bool]


def merges_memories(scored: ScoredPair) -> bool:
    """Whether the second of two memories is marked as a duplicate of the first."""
    first, second = Memory(content=scored.pair.a), Memory(content=scored.pair.b)
    likeness = near_duplicates.similarity_of(second, first, scored.cosine)
    return likeness.why_not_merged is None


def merges_rules(scored: ScoredPair) -> bool:
    """Whether the curator merges two rules into one entry."""
    entry = PlaybookEntry(content=scored.pair.a)
    near = neighbours.Neighbour(entry, scored.cosine)
    return matches.compare(scored.pair.b, near).verdict == "same"


# The thresholds to measure. A project sets its own threshold for memories, which is
# 0.95 by default. The threshold of the curator is fixed.
VERDICTS: dict[float, Verdict] = {
    0.85: merges_memories,
    neighbours.MERGE_COSINE: merges_rules,
    0.95: merges_memories,
}


def run(options: BenchmarkOptions) -> dict[str, Any]:
    return {
        "pairs": [
            row
            for pair_set in labelled_pairs.load_pairs(options.data)
            for row in _measure(pair_set)
        ]
    }


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    heads = ("precision", "recall", "contradictions")
    yield ["set", "threshold", *heads, *(f"unguarded {head}" for head in heads), "ms"]
    for row in result["pairs"]:
        yield [
            row["set"],
            f"{row['threshold']:.2f}",
            *(_share(row[head]) for head in heads),
            *(_share(row["unguarded"][head]) for head in heads),
            f"{row['ms']:.2f}",
        ]


def remarks(result: dict[str, Any]) -> Iterator[str]:
    yield "contradictions: the share of those labelled that would become one text"
    yield f"at {neighbours.MERGE_COSINE:.2f} the curator decides, else the guard of memories"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _measure(pair_set: PairSet) -> Iterator[dict[str, Any]]:
    scored = _score_pairs(pair_set)
    for threshold, verdict in VERDICTS.items():
        near = [one for one in scored if one.cosine >= threshold]
        started = time.process_time()
        merged = [one for one in near if verdict(one)]
        spent = time.process_time() - started
        yield {
            "set": pair_set.name,
            "threshold": threshold,
            **_shares(merged, scored),
            "unguarded": _shares(near, scored),
            "pairs": len(scored),
            "near": len(near),
            "judged_duplicate": len(merged),
            "ms": round(1000 * spent / max(len(near), 1), 3),
        }


def _shares(
    chosen: Sequence[ScoredPair], every: Sequence[ScoredPair]
) -> dict[str, Any]:
    """Return precision, recall, and the share of contradictions that were chosen."""
    right = _count(chosen, lambda pair: pair.is_duplicate)
    against = _count(chosen, lambda pair: pair.is_contradiction)
    return {
        "precision": _ratio(right, len(chosen)),
        "recall": _ratio(right, _count(every, lambda pair: pair.is_duplicate)),
        "contradictions": _ratio(
            against, _count(every, lambda pair: pair.is_contradiction)
        ),
    }


def _count(pairs: Sequence[ScoredPair], condition: Callable[[TextPair], bool]) -> int:
    return sum(condition(one.pair) for one in pairs)


def _ratio(part: int, whole: int) -> float | None:
    """Return the ratio of the two numbers; None if the whole is 0."""
    return round(part / whole, 4) if whole else None


def _score_pairs(pair_set: PairSet) -> list[ScoredPair]:
    """Return the pairs with their cosines. Each text is embedded only once."""
    texts = list(dict.fromkeys(t for pair in pair_set.pairs for t in (pair.a, pair.b)))
    bar = ProgressBar(f"{pair_set.name}: texts", len(texts))
    vectors: dict[str, Any] = {}
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        rows = np.asarray(active_model.get().embed(batch))
        vectors.update(zip(batch, rows, strict=True))
        bar.show(start + len(batch))
    return [
        ScoredPair(pair, float(vectors[pair.a] @ vectors[pair.b]))
        for pair in pair_set.pairs
    ]
