"""The share of a statement's words that a text has, in any language."""

from __future__ import annotations

import pytest

from agents.tiers.shared_words import share


@pytest.mark.parametrize(
    ("statement", "near", "far"),
    [
        ("Maria moved to Berlin", "she moved to Berlin", "the black cat sleeps"),
        ("ミアは東京で働いている", "私は東京で働いています", "猫が寝ぬ"),
        ("缓存已经禁用", "我们已经禁用了缓存", "请写报告"),
        ("मिया दिल्ली में काम करती", "मिया दिल्ली में काम", "बिल्ली सोती"),
        ("La clé est à Orléans", "cle a ORLEANS", "un chat dort"),
    ],
)
def test_a_near_text_shares_more_than_half_and_another_less(statement, near, far):
    assert share(statement, near) > 0.5 > share(statement, far)
