from __future__ import annotations

import os

import pytest

from inference.embedding import cores


@pytest.mark.parametrize(
    ("own", "runnable", "is_idle"),
    [(2, 1, True), (2, 2, True), (2, 3, False), (1, 1, False), (8, 8, True)],
)
def test_a_core_is_idle_while_no_thread_waits_for_one(
    monkeypatch, tmp_path, own, runnable, is_idle
):
    told = tmp_path / "loadavg"
    told.write_text(f"0.20 0.18 0.12 {runnable}/80 11206\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(own)))

    with told.open() as load:
        monkeypatch.setattr(cores, "_load_file", load.fileno)
        assert cores.has_idle() is is_idle


@pytest.mark.parametrize("told", ["", "0.20 0.18 0.12", "a b c d/e f"])
def test_where_nothing_is_told_none_is(monkeypatch, tmp_path, told):
    path = tmp_path / "loadavg"
    path.write_text(told)

    with path.open() as load:
        monkeypatch.setattr(cores, "_load_file", load.fileno)
        assert not cores.has_idle()


def test_where_the_load_cannot_be_read_none_is(monkeypatch, tmp_path):
    with (tmp_path / "gone").open("w") as load:
        closed = load.fileno()
    monkeypatch.setattr(cores, "_load_file", lambda: closed)

    assert not cores.has_idle()
