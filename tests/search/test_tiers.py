"""The lexemes of tiers, as rows are written and as an upgrade writes them anew."""

from __future__ import annotations

from types import SimpleNamespace

from django.db import connection

from memories.models import Memory
from search.columns import SEARCH_COLUMNS
from search.migrations import _tiers
from search.models import Corpus

TABLE = Memory._meta.db_table


def columns():
    return list(Memory.objects.order_by("pk").values_list(*SEARCH_COLUMNS))


def rewrite(value):
    _tiers.written(TABLE, value)(None, SimpleNamespace(connection=connection))


def test_an_upgrade_writes_every_row_batch_by_batch_and_again_does_no_harm(
    remember, count, monkeypatch
):
    for n in range(5):
        remember(f"pear pear pear number{n}")
    count()
    written = columns()
    monkeypatch.setattr(_tiers, "BATCH", 2)

    rewrite(_tiers.WITHOUT)
    without = columns()
    rewrite(_tiers.WITH)
    rewrite(_tiers.WITH)

    assert columns() == written
    assert all("⇈pear" in lexemes for lexemes, _ in written)
    assert not any("↑" in lexemes or "⇈" in lexemes for lexemes, _ in without)
    assert [terms for _, terms in without] == [terms for _, terms in written]


def test_an_upgrade_has_every_corpus_counted_anew(remember, count):
    remember("pear pear pear number one")
    count()

    rewrite(_tiers.WITH)

    assert set(Corpus.objects.values_list("newest_id", flat=True)) == {None}
