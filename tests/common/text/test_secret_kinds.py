"""Secrets of every kind, drawn at random, in the places where texts have them."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path

import pytest

from common.text import secrets

ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
    "U": string.ascii_uppercase + "234567",
    "L": string.ascii_lowercase + string.digits,
    "W": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
}
PLACES = (
    "{}",
    "We used {} for it.",
    "log: start\n{}\nend",
    "```\n{}\n```",
    "1. Run it\n2. {}\n3. Done, next",
    "{} (rotate soon)",
)
WORDS = ("Sommer", "dragon", "Tiger", "horse", "Admin", "falcon", "orchid")
DRAWS = 5


def draw(match, source):
    kind, _, length = match[1].partition(":")
    if kind == "P":
        word = source.choice(WORDS) + str(source.randrange(10, 9999))
        return word + source.choice(["!", "", "_x", "$K", "-7z"])
    drawn = [source.choice(ALPHABETS[kind]) for _ in range(int(length))]
    # A drawn text without a digit would be a word.
    drawn[len(drawn) // 2] = source.choice(string.digits)
    return "".join(drawn)


def read_kinds():
    lines = Path(__file__).with_name("secret_kinds.txt").read_text("utf-8").splitlines()
    rows = [line.partition(" | ") for line in lines if not line.startswith("#")]
    return [(kind, text) for kind, _, text in rows]


def made(text, source):
    """Return a text and the secret in it."""
    text = re.sub(r"(?<!\\)\\n", "\n", text.replace("\\\\n", "\\\\\n"))
    text = text.replace("\\\\", "\\")
    filled = re.sub(r"\{(\w(?::\d+)?)\}", lambda match: draw(match, source), text)
    start, end = filled.index("«"), filled.index("»")
    return filled.replace("«", "").replace("»", ""), filled[start + 1 : end]


def drawn_texts():
    for kind, template in read_kinds():
        source = random.Random(f"{kind} {template}")
        for _ in range(DRAWS):
            yield made(template, source)


@pytest.mark.parametrize("place", PLACES)
def test_it_masks_secrets_of_each_kind(place):
    left = []
    for text, secret in drawn_texts():
        masked = secrets.mask(place.replace("{}", text)).text
        # A short password may be part of a word of the mask.
        if secret in re.sub(r"\[secret:[\w-]+\]", "", masked):
            left.append(masked)

    assert left == []


def test_it_masks_a_secret_that_is_a_placeholder_in_part():
    text = "password=mypassword123example! and token=abc_changeme_8f7e6d5c4b"

    masked = secrets.mask(text)

    assert "mypassword123example" not in masked.text
    assert "8f7e6d5c4b" not in masked.text
