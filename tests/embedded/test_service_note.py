"""A command of the checkout finds the data of the service that runs from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded import data_folder, service_note
from embedded.data_folder import EmbeddedError

TRIED, SHOWN = Path("/tried"), Path("/shown")


@pytest.fixture
def at_exit(monkeypatch):
    """What the process would do at its end."""
    acts = []
    monkeypatch.setattr(service_note.atexit, "register", acts.append)
    return acts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, at_exit):
    """A checkout in which no service runs."""
    monkeypatch.delenv("DATA_DIR", raising=False)
    monkeypatch.setenv("SERVICE_NOTES", str(tmp_path / ".up"))
    return tmp_path / ".up"


class TestNote:
    def test_without_a_service_the_folder_is_the_default(self):
        assert service_note.locate() == data_folder.locate()

    def test_the_folder_of_a_running_service_is_used(self):
        service_note.leave(TRIED, port=8000)

        assert service_note.locate() == TRIED

    def test_the_environment_stands_before_it(self, monkeypatch):
        service_note.leave(TRIED, port=8000)
        monkeypatch.setenv("DATA_DIR", "/named")

        assert service_note.locate() == Path("/named")

    def test_the_note_of_a_killed_service_counts_no_more(self, folder):
        note = service_note.leave(TRIED, port=8000)

        note.lock.release()  # as the kernel does

        assert list(folder.iterdir())
        assert service_note.locate() == data_folder.locate()

    def test_a_second_start_uses_the_note_that_a_killed_one_left(self):
        service_note.leave(TRIED, port=8000).lock.release()

        service_note.leave(TRIED, port=8001)

        assert service_note.locate(port=8001) == TRIED

    def test_an_orderly_end_leaves_none(self, folder, at_exit):
        service_note.leave(TRIED, port=8000)

        for act in at_exit:
            act()

        assert list(folder.iterdir()) == []

    def test_of_two_services_the_port_decides(self):
        service_note.leave(TRIED, port=8000)
        service_note.leave(SHOWN, port=8001)

        assert service_note.locate(port=8001) == SHOWN
        with pytest.raises(EmbeddedError, match="/shown and /tried"):
            service_note.locate()

    def test_no_service_answers_for_another_port(self):
        service_note.leave(TRIED, port=8000)

        with pytest.raises(EmbeddedError, match="port 8001"):
            service_note.locate(port=8001)

    def test_of_several_services_the_one_on_the_default_folder_is_used(self):
        service_note.leave(TRIED, port=8000)
        service_note.leave(data_folder.locate(), port=8001)

        assert service_note.locate() == data_folder.locate()

    def test_a_checkout_that_cannot_be_written_has_none(self, folder):
        folder.write_text("no folder")

        assert service_note.leave(TRIED, port=8000) is None
