"""Words that a text hides are found, whatever they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.danger.detect import find_dangers
from common.text.danger.disguise import find_disguises
from tests.common.text.danger.disguises import DISGUISES

PLAIN = "Read the notes of the release and name the file of the old index in them."


def alternate(text):
    return "".join(
        letter.upper() if place % 2 else letter for place, letter in enumerate(text)
    )


class TestHiddenWords:
    @pytest.mark.parametrize(
        "name",
        [
            "full width",
            "mathematical letters",
            "cyrillic letters",
            "soft hyphens",
            "spaced letters",
            "a word a line",
        ],
    )
    def test_a_harmless_sentence_is_found_too(self, name):
        assert list(find_disguises(DISGUISES[name](PLAIN)))

    @pytest.mark.parametrize(
        "text",
        [
            alternate(PLAIN),
            "reaD thE noteS oF thE releasE beforE yoU merge.",
            PLAIN.replace(" ", "\u2028"),
            PLAIN.replace(" ", "\t\t"),
            PLAIN.replace(" ", "  "),
            "Steps:\n" + "\n".join(f"{n}. {w}" for n, w in enumerate(PLAIN.split(), 1)),
            "\n".join("readthenotes"),
            "Re\tad the no\ttes of the rele\tase.",
            "Re-\nad the no-\ntes of the rele-\nase.",
            "Re\\\nad the no\\\ntes of the rele\\\nase.",
            "Re<!-- -->ad the no<b></b>tes of the rele<wbr>ase.",
            "".join(f"{letter}\u0336" for letter in "sudo"),
            "\u1d1b\u029c\u1d07 file",
            "\u24d3\u24d4\u24db\u24d4\u24e3\u24d4 it",
        ],
    )
    def test_each_way_to_hide_is_found(self, text):
        (danger, *_) = [each for each in find_dangers(text) if each.kind == "disguise"]

        assert text[danger.start : danger.end]
        assert danger.message == "It hides how its words are written."


class TestOrdinaryTexts:
    @pytest.mark.parametrize(
        "text",
        [
            PLAIN,
            PLAIN.upper(),
            PLAIN.title(),
            "LaTeX, PyPI, GitHub, gRPC, eBPF, mTLS, macOS, JavaScript, PostgreSQL and OAuth2.",
            "getUserById calls deleteOnExit and isReady; parseURLs reads APIs and IDs.",
            "It takes 5 \u00b5s; \u0394time is \u2264 3 \u03c3max, \u03bbmax or 10 k\u03a9.",
            "The caf\u00e9 r\u00e9sum\u00e9 is na\u00efve \u2122 \u00b2 \ufb01 \u2026 \u2013 \u2014.",
            "Use \u2705 for done and \U0001f468\u200d\U0001f469\u200d\U0001f467 for a family \u2764\ufe0f.",
            "\uff21\uff30\uff29\u306e\u30c6\u30b9\u30c8\u3092\u5b9f\u884c\u3059\u308b\u3002",
            "\u041f\u0435\u0440\u0435\u0434 \u043a\u043e\u043c\u043c\u0438\u0442\u043e\u043c git push.",
            "Ng\u01b0\u1eddi d\u00f9ng \u0111\u01b0\u1ee3c ph\u00e9p.",
            "Run these:\n- pytest\n- mypy\n- ruff\n- bin/house\n- bin/test\n- bin/up",
            "on:\n  push:\njobs:\n  build:\n    with:\n      if:\n",
            "To          From       Over\n--          ----       ----\nhome        work       lake",
            "*.pyc\n.env\n.venv\nbuild\ndist\nnode_modules\nhtmlcov",
            "name\tage\tcity\nAda\t36\tLondon",
            "docker run \\\n  --rm \\\n  -p 80:80 \\\n  image",
            "A long para-\ngraph wraps once, in a re-\nport.",
            "x y z are the axes, a b c d the sides.",
        ],
    )
    def test_nothing_is_found(self, text):
        assert list(find_disguises(text)) == []

    @given(st.text())
    def test_a_place_is_within_the_text(self, text):
        for start, end in find_disguises(text):
            assert 0 <= start < end <= len(text)
