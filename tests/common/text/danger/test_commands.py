"""Each row of the table of commands finds a text that it describes."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from common.text.danger import commands, detect

ASCII = st.characters(min_codepoint=32, max_codepoint=126)
SEARCH = settings(
    phases=[Phase.generate],
    max_examples=5_000,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
ROWS = commands._patterns()
# A gap between two words. Random characters there seldom leave the edges of the words.
GAP = re.compile(r"\[\^\.\\n\]\{0,\d+\}")


class Found(Exception):
    """Ends a search at the first text that is found."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.pattern.pattern[:60])
def test_a_text_that_a_row_describes_is_found(row, monkeypatch):
    monkeypatch.setattr(commands, "_patterns", lambda: (row,))
    monkeypatch.setattr(detect.phrases, "find_phrases", lambda text: ())

    @SEARCH
    @given(st.from_regex(GAP.sub(" ", row.pattern.pattern), alphabet=ASCII))
    def search(text):
        if row.kind in {danger.kind for danger in detect.find_dangers(text)}:
            raise Found

    with pytest.raises(Found):
        search()
