"""What cannot work is refused before the first request is served."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys

import pytest
from celery.signals import beat_init, celeryd_init
from django.core.checks import run_checks
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from common import schema_version
from embedded import data_folder, servers
from memory_project import startup


def start_web():
    runpy.run_path(str(data_folder.BASE_DIR / "gunicorn.conf.py"))["on_starting"](None)


def start_worker():
    celeryd_init.send(sender="worker")


def start_beat():
    beat_init.send(sender=None)


each_process = pytest.mark.parametrize("start", [start_web, start_worker, start_beat])


@pytest.fixture(autouse=True)
def _counters_are_in_a_folder_of_the_test(monkeypatch, tmp_path):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "counters"))


@pytest.fixture(autouse=True)
def _the_data_folder_is_the_same_after_the_test(monkeypatch):
    """`servers.ensure` names its own one in the environment."""
    monkeypatch.setenv("DATA_DIR", os.environ.get("DATA_DIR", ""))


@pytest.fixture
def newer_schema(transactional_db):
    recorder = MigrationRecorder(connection)
    for number in range(1, 6):
        recorder.record_applied("playbook", f"099{number}_later")
    yield
    for number in range(1, 6):
        recorder.record_unapplied("playbook", f"099{number}_later")


class TestSecretKey:
    @each_process
    def test_an_empty_one_ends_the_process(self, start, settings):
        settings.SECRET_KEY = ""

        with pytest.raises(SystemExit, match=r"SECRET_KEY is empty\. Set"):
            start()

    def test_the_check_of_the_settings_reports_it(self, settings):
        settings.SECRET_KEY = ""

        assert "memory_project.E001" in [found.id for found in run_checks()]

    @pytest.mark.parametrize("value", ["", " ", "\t\n"])
    def test_the_web_server_ends_before_it_listens(self, value):
        done = subprocess.run(
            [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py"],
            env=os.environ | {"SECRET_KEY": value, "WEB_BIND": "127.0.0.1:0"},
            cwd=data_folder.BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

        assert done.returncode == 1
        assert "SECRET_KEY is empty" in done.stderr
        assert "Listening" not in done.stdout + done.stderr

    @pytest.mark.parametrize("value", [" ", "\n"])
    def test_up_refuses_one_of_white_space(self, value, tmp_path, monkeypatch):
        monkeypatch.setenv("SECRET_KEY", value)

        with pytest.raises(data_folder.EmbeddedError, match="SECRET_KEY is empty"):
            servers.ensure(tmp_path)

    @pytest.mark.parametrize("content", ["", "\n", None])
    def test_up_refuses_a_file_without_one(self, content, tmp_path, monkeypatch):
        file = tmp_path / "key"
        if content is not None:
            file.write_text(content)
        monkeypatch.setenv("SECRET_KEY_FILE", str(file))

        with pytest.raises(data_folder.EmbeddedError, match="SECRET_KEY"):
            servers.ensure(tmp_path)

    def test_up_refuses_an_empty_one_of_the_data_folder(self, tmp_path, monkeypatch):
        (tmp_path / "secret_key").touch()
        monkeypatch.delenv("SECRET_KEY")

        with pytest.raises(data_folder.EmbeddedError, match=r"remove .*secret_key"):
            servers.ensure(tmp_path)


class TestSchema:
    @each_process
    def test_one_of_a_newer_release_ends_the_process(self, start, newer_schema):
        with pytest.raises(SystemExit) as refusal:
            start()

        assert "playbook.0991_later" in str(refusal.value)
        assert "and 2 more. Start the newer release" in str(refusal.value)

    @each_process
    @pytest.mark.django_db(transaction=True)
    def test_the_schema_of_this_release_is_served(self, start):
        start()

    @pytest.mark.django_db
    def test_a_database_that_does_not_answer_does_not_end_it(self, monkeypatch):
        def refuse(link):
            raise OperationalError("connection refused")

        monkeypatch.setattr(schema_version, "refuse_newer", refuse)

        startup.refuse_unservable()

    @pytest.mark.django_db
    def test_a_migration_that_another_replaces_is_known(self, monkeypatch):
        replaced = ("playbook", "0001_old_name")
        MigrationRecorder(connection).record_applied(*replaced)
        loader = schema_version.MigrationLoader(None)
        key = next(iter(loader.disk_migrations))
        monkeypatch.setattr(type(loader.disk_migrations[key]), "replaces", [replaced])

        assert schema_version.unknown_migrations(connection) == []
