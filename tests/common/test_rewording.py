"""An excerpt of a difference: what changed, and little of what stayed."""

from __future__ import annotations

from common.rewording import AROUND, Part, excerpt, words

LONG = "".join(f"tide{number} " for number in range(100))


def shown(before, after, limit=4_000):
    return list(excerpt(words(before, after), limit))


def test_what_changed_stands_with_a_little_around_it():
    first, removed, added, last = shown(f"{LONG}north {LONG}", f"{LONG}south {LONG}")

    assert (removed.text, added.text) == ("north ", "south ")
    assert " … " in first.text
    assert first.text.endswith(LONG[-AROUND:])
    assert last.text.startswith(LONG[:AROUND])


def test_short_texts_are_whole():
    assert shown("a b", "a c") == [
        Part("same", "a "),
        Part("removed", "b"),
        Part("added", "c"),
    ]


def test_no_more_than_the_limit_is_kept():
    parts = shown("W" * 50_000, "V" * 50_000, limit=1_000)

    assert parts == [Part("removed", "W" * 1_000), Part("same", " …")]
