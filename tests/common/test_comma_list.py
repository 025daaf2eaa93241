"""Names in one line of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import comma_list


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sea, ebb", ["sea", "ebb"]),
        (" sea ,, ebb , ", ["sea", "ebb"]),
        ('"salt, fresh", sea', ["salt, fresh", "sea"]),
        ('" sea "', [" sea "]),
        ('5" pipe, "a ""b"""', ['5" pipe', 'a "b"']),
        ('"not closed, sea', ['"not closed', "sea"]),
        ("", []),
    ],
)
def test_a_line_is_split_at_commas_outside_quotation_marks(text, names):
    assert comma_list.split(text) == names


@given(st.lists(st.text(st.sampled_from('a, "\n'), min_size=1)))
def test_names_come_back_as_they_were_written(names):
    assert comma_list.split(comma_list.join(names)) == names
