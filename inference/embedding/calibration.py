"""Put the cosines of every embedding model on one scale: that of the bundled model.

Models differ: with one, two unrelated texts have a cosine near 0, with another 0.7. Every number
of this project that is a similarity (the weights of fusion, the gates of relevance, the thresholds
of duplicates) is on the scale of the bundled model. `measure` finds three points of another model's
scale, and between these points the scale is a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from inference.embedding.embedder import Embedder
from inference.embedding.vector import Vector

PAIRS = Path(__file__).with_name("calibration_pairs.txt")
# A model that does not part related texts from unrelated ones by this much is left as it is.
MIN_SPREAD = 0.05


@dataclass(frozen=True)
class Scale:
    """The mean cosines of a model: of texts on different subjects, and of paraphrases."""

    unrelated: float
    related: float

    @classmethod
    def read(cls, stored: dict[str, Any] | None) -> Self | None:
        return cls(**stored) if stored else None

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    @property
    def points(self) -> tuple[float, ...]:
        return (-1.0, self.unrelated, self.related, 1.0)

    def similarity(self, cosine: float) -> float:
        """Return a cosine of this model on the scale of the bundled model."""
        if self == BUNDLED:
            return cosine
        return _between(cosine, self.points, BUNDLED.points)

    def cosine(self, similarity: float) -> float:
        """Return the cosine of this model that has this similarity."""
        if self == BUNDLED:
            return similarity
        return _between(similarity, BUNDLED.points, self.points)


# The points of all-MiniLM-L6-v2 (int8), as `measure` finds them.
BUNDLED = Scale(unrelated=0.0753, related=0.8161)


def _between(value: float, here: Sequence[float], there: Sequence[float]) -> float:
    for (low, high), (start, end) in zip(pairwise(here), pairwise(there), strict=True):
        if value <= high:
            return start + (value - low) * (end - start) / (high - low)
    return value


def measure(model: Embedder) -> Scale | None:
    """Measure the scale of a model; raises InferenceError. None if it parts no subjects."""
    pairs = read_pairs()
    texts = [text for pair in pairs for text in pair]
    vectors = [Vector(each, model=model.name) for each in model.embed(texts)]
    left, right = vectors[::2], vectors[1::2]
    related = fmean(a.cosine(b) for a, b in zip(left, right, strict=True))
    unrelated = fmean(
        a.cosine(b)
        for place, a in enumerate(left)
        for other, b in enumerate(right)
        if place != other
    )
    if related - unrelated < MIN_SPREAD or not unrelated < related < 1:
        return None
    return Scale(round(unrelated, 4), round(related, 4))


@cache
def read_pairs() -> tuple[tuple[str, str], ...]:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return tuple((first, second) for first, second in rows)
