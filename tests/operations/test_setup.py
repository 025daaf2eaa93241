from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from embedded import data_folder

MAKE = f"source {data_folder.BASE_DIR / 'bin/setup'}; make_environment"


@pytest.fixture
def python(tmp_path):
    """The Python of an environment that was made without pip."""
    bare = [sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"]
    subprocess.run(bare, check=True)
    return tmp_path / ".venv/bin/python"


def make_environment(python: Path) -> None:
    folder = python.parents[2]
    subprocess.run(["bash", "-euc", MAKE], cwd=folder, check=True, timeout=60)


def has_pip(python: Path) -> bool:
    asked = [python, "-m", "pip", "--version"]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0


def test_a_half_made_environment_is_recreated(python):
    make_environment(python)

    assert has_pip(python)


@pytest.mark.slow
def test_one_with_half_of_pip_is_recreated(python):
    make_environment(python)
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    for noted in packages.glob("pip-*.dist-info/*"):
        noted.unlink()
    (packages / "pip/_vendor/__init__.py").unlink()

    make_environment(python)

    assert has_pip(python)


@pytest.mark.slow
def test_a_whole_one_stays(python):
    make_environment(python)
    (python.parent / "mine").touch()

    make_environment(python)

    assert (python.parent / "mine").exists()


@pytest.fixture
def checkout(tmp_path):
    """A checkout in which nothing is installed."""
    (tmp_path / "embedded").symlink_to(data_folder.BASE_DIR / "embedded")
    shutil.copytree(data_folder.BASE_DIR / "bin", tmp_path / "bin")
    return tmp_path


def ask_help(checkout: Path) -> str:
    asked = [checkout / "bin/up", "--port", "8001", "--help"]
    return subprocess.run(
        asked, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_help_installs_nothing(checkout):
    page = ask_help(checkout)

    assert page.startswith("usage: bin/up") and "--data" in page
    assert not (checkout / ".venv").exists()


def test_help_needs_no_other_python_once_one_is_installed(checkout):
    python = checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)

    assert ask_help(checkout) == "-m embedded.up --help\n"
