from __future__ import annotations

import os
from itertools import count

import pytest

from tests.growth import measure
from tests.growth.adversaries import UNITS
from tests.growth.functions import FUNCTIONS, HEAVY, PHRASES, SECRET_PHRASES

pytestmark = pytest.mark.slow

FLOOR = 0.005
# `GROWTH=all` tries every piece with every function; else a heavy one gets its share.
SHARE = 1 if os.environ.get("GROWTH") == "all" else 4
PIECES = (*UNITS, *PHRASES)


def growing_pieces(read, pieces):
    """Return the pieces whose repetition makes a function cost more than linear time."""
    runs = count()

    def work(text):
        # Another text in each run, because some functions remember what they have read.
        read(f"{next(runs)} {text}")

    growing = {}
    for piece in pieces:
        growth = measure.growth(
            work, lambda length, piece=piece: piece * (length // len(piece)), FLOOR
        )
        if growth > measure.MOST:
            growing[piece] = growth
    return growing


@pytest.mark.parametrize(("place", "name"), list(enumerate(FUNCTIONS)))
def test_it_reads_any_text_in_linear_time(place, name):
    pieces = PIECES[place % SHARE :: SHARE] if name in HEAVY else PIECES

    assert growing_pieces(FUNCTIONS[name], pieces) == {}


def test_the_rules_of_secrets_read_what_they_react_to_in_linear_time():
    assert growing_pieces(FUNCTIONS["find_secrets"], SECRET_PHRASES) == {}


def test_a_quadratic_function_is_found(monkeypatch):
    monkeypatch.setattr(measure, "LENGTHS", measure.LENGTHS[:1])

    def read(text):
        for place, character in enumerate(text):
            if character == "`":
                text[place:].split("`")

    assert list(growing_pieces(read, ["a", "`", "`a"])) == ["`", "`a"]
