from __future__ import annotations

import atexit

import pytest

from embedded import metrics_folder


@pytest.fixture
def at_the_end(monkeypatch):
    """Collect what is registered to run when the process ends."""
    todo = []
    monkeypatch.setattr(atexit, "register", lambda *call: todo.append(call))
    yield todo
    for act, *arguments in todo:
        act(*arguments)


def test_the_folder_of_a_killed_process_goes_with_the_next_start(tmp_path, at_the_end):
    first = metrics_folder.create_for(tmp_path)
    (first / "counter_7.db").write_bytes(b"1")

    second = metrics_folder.create_for(tmp_path)

    assert not first.exists()
    assert (tmp_path / "counts").readlink() == second
    assert not list(second.iterdir())


def test_it_leaves_nothing_when_its_process_ends(tmp_path, at_the_end):
    folder = metrics_folder.create_for(tmp_path)
    ((act, *arguments),) = at_the_end

    act(*arguments)

    assert not folder.exists()
    assert not list(tmp_path.iterdir())
