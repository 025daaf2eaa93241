from __future__ import annotations

import pytest
from django.db import connection

from embedded import backup

pytestmark = pytest.mark.django_db


class TestDump:
    def test_it_writes_one_private_archive(self, tmp_path):
        path = backup.dump(tmp_path / "backups")

        assert path.read_bytes().startswith(b"PGDMP")
        assert list(path.parent.iterdir()) == [path]
        assert path.parent.stat().st_mode & 0o777 == 0o700

    def test_it_keeps_the_newest_five(self, tmp_path):
        for day in range(1, 7):
            (tmp_path / f"2020010{day}T000000.000000Z.dump").touch()

        path = backup.dump(tmp_path)

        kept = sorted(entry.name for entry in tmp_path.iterdir())
        assert len(kept) == backup.MAX_BACKUPS
        assert kept[0].startswith("20200103") and kept[-1] == path.name

    def test_it_leaves_nothing_half_written(self, tmp_path, monkeypatch):
        monkeypatch.setitem(connection.settings_dict, "NAME", "nowhere")

        with pytest.raises(backup.BackupError, match="nowhere"):
            backup.dump(tmp_path)

        assert not list(tmp_path.iterdir())
