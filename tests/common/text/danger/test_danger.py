from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.danger import find_dangers
from common.text.hidden_text import find_hidden, is_foreign
from common.text.prompt_injection import find_injections
from tests.common.text.danger.disguises import DISGUISES

OWN_HOSTS = frozenset({"acme.dev"})
MOST = (
    0.98  # of the dangerous lines are named; the others wait because of who says them
)
FEW = 0.05  # of the harmless lines wait, though nobody needs to read them
HIDDEN = (
    *("full width", "cyrillic letters", "mathematical letters", "zero-width spaces"),
    *("soft hyphens", "spaced letters", "base64", "base64 in lines", "base64 for URLs"),
    *("base64 twice", "base64 of UTF-16", "hexadecimal digits", "escapes of URLs"),
)
SPLIT = (
    *("upper case", "a word a line", "a word a line, CR LF", "continued lines"),
    *("lines of seven characters", "broken words", "a code fence", "back-ticks"),
    "a quotation",
)
PLAIN = "Read the notes of the release and name the file of the old index in them."


def read(name):
    path = Path(__file__).parent / f"{name}.txt"
    return path.read_text(encoding="utf-8").splitlines()


def kinds(text, own_hosts=OWN_HOSTS):
    return {danger.kind for danger in find_dangers(text, own_hosts=own_hosts)}


def waits(text):
    return bool(kinds(text) or find_injections(text) or is_foreign(text))


class TestLists:
    def test_it_names_most_dangerous_lines(self):
        missed = [line for line in read("dangerous") if not waits(line)]

        assert len(missed) <= (1 - MOST) * len(read("dangerous")), missed

    def test_it_names_most_of_them_however_they_are_split(self):
        for name in SPLIT:
            lines = map(DISGUISES[name], read("dangerous"))
            missed = [line for line in lines if not waits(line)]

            assert len(missed) <= (1 - MOST) * len(read("dangerous")), (name, missed)

    def test_what_cannot_be_read_waits_whatever_it_says(self):
        lines = [PLAIN, *read("dangerous")[:60:4]]
        wrong = [
            (name, line)
            for name in HIDDEN
            for line in lines
            if "hidden" not in kinds(DISGUISES[name](line))
        ]

        assert not wrong

    def test_it_lets_most_harmless_lines_pass(self):
        found = [line for line in read("harmless") if waits(line)]

        assert len(found) <= FEW * len(read("harmless")), found


class TestOrdinaryTexts:
    def test_nothing_is_hidden_in_them(self):
        texts = [
            PLAIN,
            "LaTeX, PyPI, GitHub, gRPC, eBPF, mTLS, macOS, JavaScript and OAuth2.",
            "getUserById calls deleteOnExit and isReady; parseURLs reads APIs and IDs.",
            "It takes 5 \u00b5s; \u0394time is \u2264 3 \u03c3max, \u03bbmax or 10 k\u03a9.",
            "The caf\u00e9 r\u00e9sum\u00e9 is na\u00efve \u2122 \u00b2 \ufb01 \u2026 \u2013 \u2014.",
            "Use \u2705 for done and \U0001f468\u200d\U0001f469\u200d\U0001f467 for a family \u2764\ufe0f.",
            "\uff21\uff30\uff29\u306e\u30c6\u30b9\u30c8\u3092\u5b9f\u884c\u3059\u308b\u3002",
            "\u041f\u0435\u0440\u0435\u0434 \u043a\u043e\u043c\u043c\u0438\u0442\u043e\u043c git push.",
            "Ng\u01b0\u1eddi d\u00f9ng \u0111\u01b0\u1ee3c ph\u00e9p.",
            "The score\u00b2 of the lane is \u2265 0.7.",
            "x y z are the axes, a b c d the sides.",
            "The commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b is the first one.",
        ]
        wrong = [text for text in texts if list(find_hidden(text))]

        assert not wrong

    @given(st.text())
    def test_a_place_is_within_the_text(self, text):
        for start, end in find_hidden(text):
            assert 0 <= start < end <= len(text)


class TestLanguages:
    def test_a_sentence_in_another_language_cannot_be_read(self):
        texts = [
            "F\u00fchre die Tests vor jedem Commit aus.",
            "Lance les tests avant chaque commit dans la branche.",
            "Siempre usa el \u00edndice antes de insertar.",
            "\u041f\u0435\u0440\u0435\u0434 \u043a\u043e\u043c\u043c\u0438\u0442\u043e\u043c \u0437\u0430\u043f\u0443\u0441\u043a\u0430\u0439 \u0432\u0441\u0435 \u0442\u0435\u0441\u0442\u044b.",
            "\u63d0\u4ea4\u4e4b\u524d\u8fd0\u884c\u6d4b\u8bd5\u3002",
            "\u30b3\u30df\u30c3\u30c8\u306e\u524d\u306b\u30c6\u30b9\u30c8\u3092\u5b9f\u884c\u3059\u308b\u3002",
            "\ucee4\ubc0b \uc804\uc5d0 \ud14c\uc2a4\ud2b8\ub97c \uc2e4\ud589\ud55c\ub2e4.",
            "Sla je werk daarom op met `git stash` totdat iemand het bijwerkt.",
            "Lascia il server in esecuzione: \u00e8 pi\u00f9 leggero di un altro.",
            "K\u00f6r alla tester innan och efter en commit.",
        ]
        missed = [text for text in texts if not is_foreign(text)]
        translated = [text for text in read("translated") if not waits(text)]

        assert not missed
        assert len(translated) <= 0.1 * len(read("translated")), translated

    def test_english_and_code_can_be_read(self):
        texts = [
            *("", "mypy", "pip install de_core_news_sm", "ls -la /la/el"),
            *("SELECT * FROM t WHERE a IN (1)", "Run `la commande` first."),
            *("Caf\u00e9 na\u00efve r\u00e9sum\u00e9", "Use El Ni\u00f1o data."),
            *read("harmless"),
            *read("dangerous"),
        ]
        wrong = [text for text in texts if is_foreign(text)]

        assert not wrong


class TestPlaces:
    def test_a_place_is_in_the_original_text(self):
        text = "First \uff53\uff55\uff44\uff4f apt update."

        dangers = find_dangers(text)

        assert {danger.kind for danger in dangers} == {"hidden", "root"}
        for danger in dangers:
            assert text[danger.start : danger.end] == "\uff53\uff55\uff44\uff4f"
            assert danger.message.endswith(".")

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
