from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.caller import SYSTEM
from memories.read import search

MODES = ["keyword", "semantic", "hybrid"]
HOSTILE = [
    "'",
    "''",
    "\\",
    "' & | ! : * ( ) \\",
    "a & !b | c:* <-> d",
    "'a':1A 'b':2",
    '"',
    '"" -"" -',
    '-"a" -"b"',
    '"the" -the',
    "!!!???...",
    "%s %(a)s {} {0}",
    "the of and",
    "日本語のテスト 漢",
    "🎉 👩‍👩‍👧 🇩🇪",
    "café Größe привет שלום مرحبا",
    "a\x00b \ud800",
    "\u200b\ufeff\u202e",
    "x" * 10_000,
    "word " * 2_000,
    "aB" * 5_000,
    "日本" * 5_000,
    '"' * 10_000,
    "-a " * 3_000,
    "a/" * 5_000,
    "a -" + "1-" * 49 + "!",
]


@pytest.fixture
def _memories(remember):
    remember("The cursor is off by one page in src/auth.py")
    remember("日本語のテストを実行する前に必ず移行を行う")


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_is_too_strange(_memories, search, query):
    for mode in MODES:
        assert len(search(query, mode=mode)) <= 2


@given(query=st.text(max_size=200), mode=st.sampled_from(MODES))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_text_is_a_query(_memories, project, query, mode):
    search.find(project, search.MemorySearch(query, mode=mode), SYSTEM)


@given(
    content=st.text(
        alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=300
    )
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_text_can_be_stored_and_found_by_itself(remember, project, content):
    memory = remember(f"{content} is findable")

    request = search.MemorySearch("findable", limit=100, mode="keyword")
    hits = search.find(project, request, SYSTEM).hits

    assert memory.duplicate_of or memory in [hit.memory for hit in hits]


def test_the_longest_memory_of_rare_characters_can_be_stored(remember, contents):
    draw = random.Random(7)
    rare = "".join(chr(draw.randrange(0x4E00, 0x9FFF)) for _ in range(90_000))

    remember(
        "findable " + rare[:49_000], goal=rare[50_000:70_000], result=rare[70_000:]
    )

    assert len(contents("findable", mode="keyword")) == 1
