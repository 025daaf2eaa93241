"""Secrets that a sentence tells in twenty languages, and harmless sentences with the same words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from common.text import secrets
from common.text.text_tables import read_groups

TABLE = read_groups(Path(__file__).with_name("said_secrets.txt"))
MOST_LEFT = 0.25  # a bare word for a key asks for more
MASK = re.compile(r"\[secret:[\w-]+\]")


@pytest.mark.parametrize(
    "value",
    ["Tr0ub4dor-9f3e2a1c77", "kX9#mQ2vL7pW", "Sommer2024!x", "a8f3kk29xx7q1z"],
)
def test_it_masks_the_value_and_keeps_the_rest_of_the_sentence(value):
    told = sorted(TABLE["told"])

    masked = [MASK.sub("{}", secrets.mask(text.format(value)).text) for text in told]

    assert [
        after for after, text in zip(masked, told, strict=True) if after != text
    ] == []


def test_it_masks_a_plainer_password_where_a_word_joins_it_to_its_label():
    told = sorted(TABLE["told"])

    left = [text for text in told if secrets.is_clean(text.format("hunter2042"))]

    assert len(left) <= MOST_LEFT * len(told), left


def test_it_leaves_harmless_sentences_alone():
    assert [
        text for text in sorted(TABLE["harmless"]) if not secrets.is_clean(text)
    ] == []


def test_a_token_ends_where_letters_of_another_script_begin():
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF1234"

    assert secrets.mask(f"令牌是{token}。").text == "令牌是[secret:github-token]。"
