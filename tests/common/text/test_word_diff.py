"""An excerpt of a difference has the changes and a little unchanged text."""

from __future__ import annotations

from common.text.word_diff import CONTEXT_CHARACTERS, DiffPart, diff_words, excerpt

LONG = "".join(f"tide{number} " for number in range(100))


def shown(before, after, limit=4_000):
    return list(excerpt(diff_words(before, after), limit))


def test_it_keeps_changes_and_a_little_text_around_them():
    first, removed, added, last = shown(f"{LONG}north {LONG}", f"{LONG}south {LONG}")

    assert (removed.text, added.text) == ("north ", "south ")
    assert " … " in first.text
    assert first.text.endswith(LONG[-CONTEXT_CHARACTERS:])
    assert last.text.startswith(LONG[:CONTEXT_CHARACTERS])


def test_short_texts_are_whole():
    assert shown("a b", "a c") == [
        DiffPart("same", "a "),
        DiffPart("removed", "b"),
        DiffPart("added", "c"),
    ]


def test_it_stops_at_the_limit():
    parts = shown("W" * 50_000, "V" * 50_000, limit=1_000)

    assert parts == [DiffPart("removed", "W" * 1_000), DiffPart("same", " …")]
