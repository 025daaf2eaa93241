"""Read the test vectors of the rules of betterleaks, as their author wrote them.

The first line of the file tells its source and licence and holds the contexts around a
sample; each other line is a vector. `¦` splits what a scanner would take for a leak, and is
removed. `«` and `»` enclose the secret of a vector. `⟦a-z0-9|32|3.5⟧` is drawn at random:
32 characters of these, with 3.5 bits of entropy at least. A vector with `samples` is one
text in each context, with the name of the vendor.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common.text.secret_rules.spans import entropy

FILE = Path(__file__).with_name("upstream_secret_vectors.jsonl")
_DRAWN = re.compile(r"⟦(.*?)\|(\d+)\|([\d.]+)⟧")
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_MARKED = re.compile(r"«(.*?)»", re.DOTALL)
MOST_DRAWS = 200
LEAST_SECRET = 6


@dataclass(frozen=True)
class Vector:
    """`secrets` must not be in the masked text."""

    rule: str
    text: str
    secrets: tuple[str, ...]


def leaks() -> Iterator[Vector]:
    """Return the texts with a secret."""
    for row in read_rows():
        if row["leak"] and "skipped" not in row:
            yield from _texts(row)


@cache
def read_rows() -> tuple[dict, ...]:
    lines = FILE.read_text(encoding="utf-8").splitlines()[1:]
    return tuple(json.loads(line.replace("¦", "")) for line in lines)


@cache
def _contexts() -> tuple[str, ...]:
    head = FILE.read_text(encoding="utf-8").partition("\n")[0]
    return tuple(json.loads(head)["contexts"].values())


def _texts(row: dict) -> Iterator[Vector]:
    source = random.Random(row["rule"] + row["text"])
    for context in _contexts() if "samples" in row else ("{s}",):
        yield _filled(row, context, source)


def _filled(row: dict, context: str, source: random.Random) -> Vector:
    drawn: list[str] = []

    def draw(match: re.Match[str]) -> str:
        drawn.append(_draw(match, source))
        return drawn[-1]

    vendor, sample = row.get("samples", ""), _DRAWN.sub(draw, row["text"])
    context = context.replace("{i}", vendor).replace("{I}", vendor.upper())
    text = context.replace("{s}", sample)
    found = [s for s in drawn + _MARKED.findall(text) if len(s) >= LEAST_SECRET]
    return Vector(row["rule"], re.sub("[«»]", "", text), tuple(found))


def _draw(match: re.Match[str], source: random.Random) -> str:
    letters, length, least = _letters(match[1]), int(match[2]), float(match[3])
    for _ in range(MOST_DRAWS):
        drawn = "".join(source.choices(letters, k=length))
        if entropy(drawn) >= least:
            return drawn
    raise ValueError(f"no draw has the entropy: {match[0]}")


@cache
def _letters(ranges: str) -> str:
    parts = _RANGE.findall(ranges)
    return "".join(
        one or "".join(map(chr, range(ord(first), ord(last) + 1)))
        for first, last, one in parts
    )
