"""The benchmark of the fixes that are known at the moment of failure."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from projects.models import Project
from tests.benchmarks.measures.test_agent_episodes import CURED, FAILED, write_session

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "sessions" / "claude-code"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def benchmark(tmp_path):
    def run(*more):
        out, numbers = StringIO(), tmp_path / "numbers.json"
        options = ["--in-place", f"--data={tmp_path}", f"--json={numbers}", *more]
        call_command("benchmark", "sessions", *options, stdout=out)
        return json.loads(numbers.read_text()), out.getvalue()

    return run


def of_the_project(numbers):
    return next(c for c in numbers["classes"] if c["class"] == "of the project")


def test_a_fix_of_the_person_s_own_is_said_after_one_session(benchmark, folder):
    for number in range(3):
        write_session(folder, f"00{number}", "What changed?", [FAILED, CURED])

    numbers, text = benchmark()

    total = of_the_project(numbers)
    assert (total["failures"], total["came_back"], total["known"]) == (3, 2, 2)
    assert (total["right"], total["said"], total["said_right"]) == (2, 2, 2)
    assert 'without "--stat" it then worked' in text
    assert not Project.objects.exists()


def test_another_repair_than_the_suggestion_is_not_right(benchmark, folder):
    other = "gh pr diff 88 --name-only", "cart.py", False
    write_session(folder, "000", "What changed?", [FAILED, CURED])
    write_session(folder, "001", "What changed?", [FAILED, other])

    numbers, _ = benchmark()

    total = of_the_project(numbers)
    assert (total["known"], total["said"], total["said_right"]) == (1, 1, 0)


def test_it_counts_what_hooks_would_have_given(benchmark, folder, tmp_path):
    prompt = "Please list the names of the changed files of the pull request"
    for number in range(2):
        write_session(folder, f"00{number}", prompt, [FAILED, CURED])

    numbers, text = benchmark(f"--plot={tmp_path / 'known.svg'}")

    assert (numbers["failures_back"], numbers["given_at_failure"]) == (1, 1.0)
    assert numbers["told_twice"] == 1
    assert numbers["said_of_code_and_tests"] == 0
    assert numbers["tokens_per_session"] > 0
    assert "1 failures that came back 100% got their fix" in text
    assert "failures that came back" in (tmp_path / "known.svg").read_text()


def test_a_folder_without_sessions_is_refused(benchmark):
    with pytest.raises(CommandError, match="holds no transcripts"):
        benchmark()
