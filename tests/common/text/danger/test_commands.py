"""Each row of the table of commands finds a text that it describes."""

from __future__ import annotations

import pytest
from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from common.text.danger import commands, detect

ASCII = st.characters(min_codepoint=32, max_codepoint=126)
SEARCH = settings(
    phases=[Phase.generate], max_examples=5_000, derandomize=True, database=None
)
ROWS = commands._patterns()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.pattern.pattern[:60])
def test_a_text_that_a_row_describes_is_found(row, monkeypatch):
    monkeypatch.setattr(commands, "_patterns", lambda: (row,))
    monkeypatch.setattr(detect.phrases, "find_phrases", lambda text: ())

    def is_found(text):
        return row.kind in {danger.kind for danger in detect.find_dangers(text)}

    assert find(st.from_regex(row.pattern, alphabet=ASCII), is_found, settings=SEARCH)
