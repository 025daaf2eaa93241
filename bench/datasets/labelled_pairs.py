"""Pairs of texts that people labelled: `a`, `b`, and `entail` or `score`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandError

# On the scale of STS, 5 is "equivalent" and 4 is "differs in unimportant details". A
# pair counts as one statement if its score is at least the middle between 4 and 5.
EQUIVALENT = 4.5
OWN_FOLDER = Path(__file__).parent.parent / "data"


@dataclass(frozen=True)
class TextPair:
    a: str
    b: str
    is_duplicate: bool
    is_contradiction: bool


@dataclass(frozen=True)
class PairSet:
    name: str
    pairs: list[TextPair]


def load_pairs(data: Path) -> list[PairSet]:
    """Load the sets of pairs in `DIR/dedup`, or in DIR itself.

    Also load the sets that belong to this repository.
    """
    paths = sorted((data / "dedup").glob("*.jsonl")) or sorted(data.glob("*.jsonl"))
    return [_pair_set(path) for path in (*paths, *sorted(OWN_FOLDER.glob("*.jsonl")))]


def _pair_set(path: Path) -> PairSet:
    lines = path.read_text(encoding="utf-8").splitlines()
    numbered = [(at, line) for at, line in enumerate(lines, start=1) if line.strip()]
    return PairSet(path.stem, [_pair(line, f"{path}:{at}") for at, line in numbered])


def _pair(line: str, where: str) -> TextPair:
    """Parse a pair, and decide whether it is a duplicate.

    An entailment is a duplicate. If a pair has no label, its score decides. If a pair
    has a label, its score is ignored, because the score in SICK says only how related
    two texts are. "Recall of entailments" counts the pairs that are labelled as
    entailments.
    """
    try:
        row = json.loads(line)
        a, b, label = row["a"], row["b"], row.get("entail")
        if label is not None:
            return TextPair(a, b, label == "ENTAILMENT", label == "CONTRADICTION")
        return TextPair(a, b, float(row["score"]) >= EQUIVALENT, False)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(
            f"{where} is no labelled pair: a, b, and entail or score."
        ) from error
