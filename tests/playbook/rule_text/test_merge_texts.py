from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.literals import find_literals
from playbook.rule_text import merge_texts

RULE = "When calling `edit_file`, pass `path` instead of `file`."


class TestMerged:
    @pytest.mark.parametrize(
        ("old", "new", "text"),
        [
            (RULE, RULE, RULE),
            (RULE, f"{RULE} It takes `mode`.", f"{RULE} It takes `mode`."),
            (f"{RULE} It takes `mode`.", RULE, f"{RULE} It takes `mode`."),
            (
                f"{RULE} It takes `mode`.",
                f"{RULE} Run `make lint` afterwards.",
                f"{RULE} It takes `mode`. Run `make lint` afterwards.",
            ),
        ],
    )
    def test_it_keeps_the_older_text_and_adds_what_it_lacks(self, old, new, text):
        assert merge_texts.merge(old, new) == text

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("Wait 30 seconds before a retry.", "Wait 60 seconds before a retry."),
            (f"{RULE} It takes `mode`.", f"{RULE} It takes `encoding`."),
            (f"{RULE} " + "Mind the gap. " * 18, f"{RULE} Run `make` afterwards."),
        ],
        ids=["one value against another", "in a sentence", "too long"],
    )
    def test_it_leaves_to_a_person_what_code_cannot_tell(self, old, new):
        assert merge_texts.merge(old, new) is None

    @given(
        st.lists(st.sampled_from([f"Mind `a{n}` near b{n}.py." for n in range(6)])),
        st.lists(st.sampled_from([f"Open `c{n}` within {n}{n} s." for n in range(6)])),
    )
    def test_it_never_loses_a_literal(self, first, second):
        old, new = " ".join([RULE, *first]), " ".join([RULE, *second])

        text = merge_texts.merge(old, new)

        if text is not None:
            assert find_literals(old) | find_literals(new) <= find_literals(text)
