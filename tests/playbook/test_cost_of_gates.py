"""The gates read a text under the playbook's lock, so their time grows only with its length."""

from __future__ import annotations

import time

import pytest

from playbook.rule_text import text_patterns

PATTERNS = {
    "directive": text_patterns.DIRECTIVE,
    "list item": text_patterns.LIST_ITEM,
    "occasion": text_patterns.OCCASION,
    **{f"{name} {n}": one for n, (name, one) in enumerate(text_patterns.ONE_OFFS)},
}
UNITS = ["\n", " \n", ". ", "\r\n", " ", "a ", "a", "0", "- ", "\n- ", "and ", "then "]


def cpu(pattern, text):
    """The least CPU time of three readings of the whole text."""
    times = []
    for _ in range(3):
        start = time.process_time()
        sum(1 for _ in pattern.finditer(text))
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("name", PATTERNS)
def test_sixteen_times_the_text_takes_no_more_than_its_share(name):
    for unit in UNITS:
        short = cpu(PATTERNS[name], unit * 1_000 + "\x00")
        long = cpu(PATTERNS[name], unit * 16_000 + "\x00")

        # 16 to the power of 1.3, and the resolution of the clock.
        assert long < 37 * short + 0.01, repr(unit)
