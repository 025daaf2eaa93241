# ruff: noqa: RUF001 (the marks and letters of other scripts are meant)
"""Two texts are the same only if every word is the same, in any language."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from common.text import same_text
from common.text.same_text import find_difference, is_same

SAME = [
    ("The cache is cleared nightly.", "the cache is cleared nightly"),
    ("Please run the tests before you commit.", "Run tests before you commit"),
    ("Run the tests\nbefore you commit", "Run the tests before you commit!"),
    ("- Use tabs\n- no spaces", "* Use tabs\n* no spaces"),
    ("Der Nutzer darf die Daten löschen.", "Nutzer darf Daten löschen"),
    ("The team’s rota can’t change", "The team's rota can't change"),
    ("Bitte die Tests vor dem Push ausführen.", "Die Tests vor dem Push ausführen"),
    ("Clear the cache with a job.", "CLEAR CACHE WITH JOB"),
    ("缓存已启用。", "缓存已启用"),
    ("Use x — not y.", "Use x - not y"),
    ("The office is closed on holidays", "The oﬃce is closed on holi\u00addays"),
]
OTHER = [
    ("The cache is on.", "The cache is off."),
    ("schalte die Pumpe ein", "schalte die Pumpe"),
    ("Choose plan A for it", "Choose plan for it"),
    ("The process will die quickly", "The process will quickly"),
    ("Die Server sind aus", "Der Server sind aus"),
    ("We have a few users in it", "We have few users in it"),
    ("10² rows", "102 rows"),
    ("in Maßen trinken", "in Massen trinken"),
    ("Lösche den Nutzer nicht", "Lösche die Nutzer nicht"),
    ("हिन्दी में लिखो", "हिन्दू में लिखो"),
    ("كَتَبَ الولد", "كُتِبَ الولد"),
    ("the indexer before the migration", "the migration before the indexer"),
    ("Set -5", "Set 5"),
    ("Edit .env", "Edit env"),
    ("x == 1", "x != 1"),
    ("Call save! in the job", "Call save in the job"),
    ("Call user.save!", "Call user.save"),
    ("# DEBUG=1", "DEBUG=1"),
    ("- retries: 3", "+ retries: 3"),
    ("- 5 ms", "5 ms"),
    ("Run `git branch -d x`", "Run `git branch -D x`"),
    ("Run tar -c x", "Run tar -C x"),
    ("No, deploy on Friday", "No deploy on Friday"),
    ("Do not deploy: tests", "Do not. Deploy tests"),
    ("git add .", "git add"),
    ("Use `the` here", "Use here"),
    ("año nuevo", "ano nuevo"),
    ("Le chat est sur une table", "Le chat est sur la table"),
    ("C++ is used", "C is used"),
    ("允许部署", "不允许部署"),
    ("The mount is at /data/Models", "The mount is at /data/models"),
    ("Call getUser", "Call getuser"),
    ("Format times as HH:mm", "Format times as hh:mm"),
    ("Use yyyy-MM-dd for dates", "Use yyyy-mm-dd for dates"),
    ("Use %H:%M in logs", "Use %h:%m in logs"),
    ("The limit is 5 Mb", "The limit is 5 MB"),
    ("Use [A-Z]+ for codes", "Use [a-z]+ for codes"),
    ("Run chmod +X on it", "Run chmod +x on it"),
    ("Press G in vim", "Press g in vim"),
    ("Set $HOME first", "Set $home first"),
    ("Set APP_key=On", "Set APP_key=on"),
    ("The cache is on!", "The cache is on?"),
    ("Do not use the a record in dns", "Do not use the record in dns"),
    ("Rename a to b in the code", "Rename to b in the code"),
    ("版本①", "版本②"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_marks_breaks_and_articles_do_not_count(one, other):
    assert find_difference(one, other) is None
    assert is_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_every_word_counts_in_its_order(one, other):
    assert not is_same(one, other)
    assert not is_same(other, one)
    assert same_text.hash_text(one) != same_text.hash_text(other)


def test_the_hash_leaves_out_case_spaces_and_the_mark_at_the_end():
    assert same_text.hash_text("Retry it.") == same_text.hash_text("retry  it!")
    assert same_text.hash_text("Retry. It") != same_text.hash_text("Retry it")
    assert same_text.hash_text("Use `-d`") != same_text.hash_text("Use `-D`")
    assert same_text.hash_text("?!") != same_text.hash_text("!!")


@given(st.text())
def test_a_text_is_the_same_as_itself_in_other_lines(text):
    assert is_same(text, text)
    assert is_same(text, "\n".join([*text.split(" ")]))


@given(
    st.lists(
        st.sampled_from(["不", "nicht", "never", "no", "два", "২", "3", "х", "x"]),
        max_size=6,
    )
)
def test_a_word_more_is_another_text(words):
    text = " ".join(words)
    for word in ("nie", "不", "4", "كلا"):
        assume(word not in words)
        assert not is_same(text, f"{text} {word}")


def test_the_share_of_words_goes_by_both_texts_in_any_order():
    assert same_text.share_of_words("a b c d", "d c b a") == 1.0
    assert same_text.share_of_words("a b", "a c") == 0.5
    assert same_text.share_of_words("", "") == 1.0
