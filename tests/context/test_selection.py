from __future__ import annotations

import math
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from context import selection
from context.selection import Budget, CandidateLine

KINDS = ("fact", "note")
budgets = st.builds(
    Budget,
    items=st.integers(0, 6),
    chars=st.integers(0, 200),
    tokens=st.none() | st.integers(0, 60),
)
texts = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=80
)
OPENING = "Memory digest:"


@st.composite
def lines(draw):
    found = []
    for number in range(draw(st.integers(0, 8))):
        head = f"- {number:03d}"
        text = head + draw(texts)
        kind = draw(st.sampled_from(KINDS))
        found.append(CandidateLine(number, kind, len(head), partial(str, text)))
    return found


def size(parts):
    text = "".join(f"{part}\n" for part in parts)
    return len(text), math.ceil(len(text.encode()) / 4)


def within(parts, budget, items):
    chars, tokens = size(parts)
    return (
        items <= budget.items
        and chars <= budget.chars
        and (budget.tokens is None or tokens <= budget.tokens)
    )


@given(lines(), budgets, budgets, budgets)
def test_no_budget_is_exceeded(lines, total, fact, note):
    kinds = {"fact": fact, "note": note}

    found = selection.select(lines, total=total, kinds=kinds, opening=OPENING)

    if found.lines:
        parts = [OPENING, *(one.text for one in found.lines)]
        assert within(parts, total, len(found.lines))
    for kind, budget in kinds.items():
        own = [one.text for one in found.lines if one.kind == kind]
        assert within(own, budget, len(own))


@given(lines(), budgets, budgets)
def test_every_line_is_selected_or_skipped_with_a_reason(lines, total, each):
    kinds = dict.fromkeys(KINDS, each)

    found = selection.select(lines, total=total, kinds=kinds)

    told = [one.item for one in found.lines] + [one.item for one in found.skipped]
    assert sorted(told) == [line.item for line in lines]
    assert all(one.reason for one in found.skipped)


@given(lines(), budgets, budgets)
def test_every_selected_line_has_its_whole_head(lines, total, each):
    heads = {line.item: line.text[: line.head] for line in lines}

    found = selection.select(lines, total=total, kinds=dict.fromkeys(KINDS, each))

    assert all(one.text.startswith(heads[one.item]) for one in found.lines)


@given(lines(), budgets)
def test_the_order_stays(lines, total):
    wide = Budget(100, 10_000)

    found = selection.select(lines, total=total, kinds=dict.fromkeys(KINDS, wide))

    places = [one.item for one in found.lines]
    assert places == sorted(places)


def test_no_text_is_written_without_room_for_it():
    written = []

    def line(number):
        return CandidateLine(
            number, "note", 4, lambda: written.append(number) or "x" * 50
        )

    most = Budget(items=2, chars=1_000)
    chosen = selection.select(map(line, range(9)), total=most, kinds={"note": most})

    assert written == [0, 1]
    assert len(chosen.skipped) == 7
