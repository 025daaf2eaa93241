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


@pytest.mark.parametrize(
    "text",
    [
        "login: root/hunter2",
        "creds: admin/Winter-2024",
        "sign in with bob / hunter2",
        "The token is prod_a8d7f6s5d4f3g2h1j0k9_v1",
        "the api token is pat_v1_Xk39sd9fk3lQ",
        "API_TOKEN=uuid-9f8e7d6c5b4a-1a2b3c4d5e6f",
        "api_key: pbkdf2Xk39sd9fk3lQ8",
    ],
)
def test_it_masks_what_looks_like_a_path_or_a_version(text):
    assert not secrets.is_clean(text)
