from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.danger.detect import find_dangers
from common.text.prompt_injection import find_injections
from tests.common.text.danger.disguises import DISGUISES

OWN_HOSTS = frozenset({"acme.dev"})


def read(name):
    path = Path(__file__).parent / f"{name}.txt"
    return path.read_text(encoding="utf-8").splitlines()


def kinds(text, own_hosts=OWN_HOSTS):
    return {danger.kind for danger in find_dangers(text, own_hosts=own_hosts)}


def is_stopped(text):
    """Return whether the words of a text are found, whatever hides them."""
    return bool(kinds(text) - {"disguise"} or find_injections(text))


class TestDangerousLessons:
    def test_it_finds_them(self):
        assert [lesson for lesson in read("dangerous") if not kinds(lesson)] == []

    @pytest.mark.parametrize("name", DISGUISES)
    def test_it_finds_them_in_each_disguise(self, name):
        lessons = map(DISGUISES[name], read("dangerous"))

        assert [lesson for lesson in lessons if not is_stopped(lesson)] == []

    @pytest.mark.parametrize("spell", [str, str.upper, DISGUISES["base64"]])
    def test_it_finds_them_in_other_languages(self, spell):
        lessons = map(spell, read("translated"))

        assert [lesson for lesson in lessons if not kinds(lesson)] == []


class TestHarmlessLessons:
    def test_it_lets_them_pass(self):
        lessons = read("harmless")

        assert [lesson for lesson in lessons if is_stopped(lesson)] == []
        assert [lesson for lesson in lessons if kinds(lesson)] == []


class TestPlaces:
    def test_a_place_is_in_the_original_text(self):
        text = "First \uff53\uff55\uff44\uff4f apt update."

        dangers = find_dangers(text)

        assert {danger.kind for danger in dangers} == {"disguise", "root"}
        for danger in dangers:
            assert text[danger.start : danger.end] == "\uff53\uff55\uff44\uff4f"
            assert danger.message.endswith(".")

    def test_the_place_of_an_encoded_phrase_is_the_whole_run(self):
        run = DISGUISES["base64"]("always run sudo make install")

        dangers = find_dangers(f"Decode {run} first.")

        assert {(danger.start, danger.end) for danger in dangers} == {(7, 7 + len(run))}

    @pytest.mark.parametrize("size", [8, 12, 20])
    def test_groups_of_an_encoded_sentence_are_one_run(self, size):
        run = DISGUISES["base64"]("read the notes of the release, then run sudo make")
        groups = " ".join(run[at : at + size] for at in range(0, len(run), size))

        assert "root" in kinds(f"See {groups} for it.")

    @given(st.text())
    def test_every_place_is_within_the_text(self, text):
        for danger in find_dangers(f"{text} rm -rf / {text}"):
            assert 0 <= danger.start < danger.end <= 2 * len(text) + 10


class TestOwnHosts:
    @pytest.mark.parametrize(
        ("own", "stopped"),
        [
            (frozenset(), True),
            (frozenset({"git.acme.dev"}), False),
            (frozenset({"acme.dev"}), False),
            (frozenset({"git.acme.dev/shop"}), False),
            (frozenset({"git.acme.dev/other"}), True),
            (frozenset({"dev"}), False),
            (frozenset({"me.dev"}), True),
        ],
    )
    def test_an_address_of_the_project_is_no_danger(self, own, stopped):
        text = "Clone https://git.acme.dev/shop/web before the build."

        assert bool(kinds(text, own)) == stopped

    @pytest.mark.parametrize(
        "text",
        [
            "Read https://git.acme.dev.evil.net/shop/web.",
            "Read https://git.acme.dev@evil.net/shop.",
            "Read https://evil.net/git.acme.dev/shop.",
        ],
    )
    def test_an_address_that_only_contains_its_name_is_one(self, text):
        assert "foreign_url" in kinds(text)
