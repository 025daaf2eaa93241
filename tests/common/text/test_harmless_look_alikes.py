"""Texts that look like secrets, and are none."""

from __future__ import annotations

from pathlib import Path

from common.text import secrets
from common.text.json_secrets import JsonMasker
from common.text.text_tables import read_groups

FILE = Path(__file__).with_name("harmless_look_alikes.txt")
PLACES = ("{}", "We saw this:\n\n    {}\n\nand went on.", "- {}", "`{}`")


def texts():
    return [
        line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
        for name, lines in read_groups(FILE).items()
        for line in sorted(lines)
        if name
    ]


def test_it_leaves_harmless_texts_alone():
    places = [place.replace("{}", text) for text in texts() for place in PLACES]

    masked = [(text, secrets.mask(text).text) for text in places]

    assert [after for before, after in masked if before != after] == []


def test_it_leaves_harmless_texts_in_json_alone():
    fields = [{"content": text, "note": {"text": text}} for text in texts()]

    assert [after for after in fields if JsonMasker().mask(after) != after] == []


def test_there_are_many_of_them():
    assert len(set(texts())) >= 300
