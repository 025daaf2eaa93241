from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from common import schema_version
from embedded import backup, first_start, schema_mark
from embedded.management.commands import up
from jobs.models import Heartbeat

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


def names(folder):
    return sorted(path.name for path in folder.glob("*.dump"))


class TestBeforeUpgrade:
    @pytest.fixture
    def first(self, tmp_path):
        return backup.before_upgrade(tmp_path)

    def test_attempts_that_fail_keep_the_first_backup_and_make_no_other(
        self, first, tmp_path
    ):
        for _ in range(8):
            assert backup.before_upgrade(tmp_path) == first

        assert names(tmp_path) == [first.name]

    def test_so_do_attempts_after_some_of_the_migrations(self, first, tmp_path):
        MigrationRecorder(connection).record_applied("memories", "0998_half_way")

        assert backup.before_upgrade(tmp_path) == first
        assert names(tmp_path) == [first.name]

    def test_an_upgrade_after_one_that_succeeded_has_its_own(self, first, tmp_path):
        backup.finish_upgrade(tmp_path)

        second = backup.before_upgrade(tmp_path)

        assert names(tmp_path) == [first.name, second.name]

    def test_what_an_older_release_wrote_in_between_is_backed_up(self, first, tmp_path):
        Heartbeat.objects.create(name="worker", at=timezone.now() + timedelta(hours=1))

        second = backup.before_upgrade(tmp_path)

        assert second != first
        assert backup.UnfinishedUpgrade.read(tmp_path).backup == second.name

    def test_the_first_one_outlives_others_that_are_made_half_way(
        self, first, tmp_path
    ):
        MigrationRecorder(connection).record_applied("memories", "0998_half_way")
        Heartbeat.objects.create(name="worker", at=timezone.now() + timedelta(hours=1))

        for _ in range(backup.MAX_BACKUPS + 2):
            backup.before_upgrade(tmp_path)

        kept = names(tmp_path)
        assert kept[0] == first.name
        assert len(kept) == backup.MAX_BACKUPS + 1

    def test_a_backup_that_somebody_removed_is_made_again(self, first, tmp_path):
        first.unlink()

        assert backup.before_upgrade(tmp_path).is_file()

    def test_a_mark_that_cannot_be_read_counts_as_none(self, first, tmp_path):
        backup.UnfinishedUpgrade.file(tmp_path).write_text("{")

        assert backup.before_upgrade(tmp_path) != first


class TestUp:
    @pytest.fixture
    def data(self, tmp_path, settings, monkeypatch):
        settings.DATA_DIR = str(tmp_path)
        monkeypatch.setattr(schema_version, "count_pending", lambda: 1)
        return tmp_path

    def test_migrations_that_fail_at_each_restart_leave_one_backup(
        self, data, monkeypatch
    ):
        def fail():
            raise CommandError("disk full")

        monkeypatch.setattr(first_start, "migrate", fail)
        for _ in range(backup.MAX_BACKUPS + 1):
            with pytest.raises(CommandError, match="disk full"):
                up.migrate()

        assert len(names(data / "backups")) == 1
        assert not schema_mark.for_data_folder(data).is_current()

    def test_migrations_that_succeed_end_the_upgrade(self, data, monkeypatch):
        monkeypatch.setattr(first_start, "migrate", lambda: None)

        for _ in range(2):
            up.migrate()

        assert len(names(data / "backups")) == 2

    @pytest.mark.parametrize("command", ["up", "migrate"])
    def test_a_schema_of_a_newer_release_is_refused(self, data, command):
        MigrationRecorder(connection).record_applied("memories", "0999_later")

        with pytest.raises(CommandError, match=r"memories\.0999_later.*operations\.md"):
            if command == "up":
                up.Command().get_ready(reset_admin=False)
            else:
                call_command("migrate")

        assert not (data / "backups").exists()
