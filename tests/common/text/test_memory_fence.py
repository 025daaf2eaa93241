"""What a hook gives is fenced, and dropped again from transcripts."""

from __future__ import annotations

import pytest

from common.text.memory_fence import CLOSE, OPEN, fence, remove_fenced


def test_what_was_fenced_is_removed_and_the_rest_stays():
    text = f"Add tests.\n{fence('- a rule')}\nThen push."

    assert remove_fenced(text) == "Add tests.\n\nThen push."


@pytest.mark.parametrize("mark", [OPEN, CLOSE, CLOSE.upper()])
def test_no_text_inside_can_end_the_fence(mark):
    fenced = fence(f'- "one {mark} two"')

    assert remove_fenced(f"before {fenced} after") == "before  after"
    assert fenced.count(OPEN) == fenced.count(CLOSE) == 1
    assert mark not in fenced[len(OPEN) : -len(CLOSE)]


def test_a_fence_that_was_cut_reaches_to_the_end():
    assert remove_fenced(f"Add tests. {fence('- a rule')[:-9]}") == "Add tests. "


def test_a_text_without_a_fence_stays():
    assert (
        remove_fenced("Rename <agent> in the memory.")
        == "Rename <agent> in the memory."
    )
