"""The parts of the benchmark of the agent that replay recorded sessions."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from projects.models import Project

pytestmark = pytest.mark.django_db(transaction=True)

FAILED = "gh pr diff 88 --stat", "unknown flag: --stat", True
CURED = "gh pr diff 88", "diff --git a/cart.py b/cart.py", False


def write_session(folder, name, prompt, commands):
    """Write a transcript of one prompt and its commands: (command, result, is_error)."""
    lines = [("user", prompt)]
    for number, (command, result, is_error) in enumerate(commands):
        call_id = f"{name}-{number}"
        arguments = {"command": command}
        use = {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}
        answer = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": result,
            "is_error": is_error,
        }
        lines += [("assistant", [use]), ("user", [answer])]
    lines.append(("assistant", [{"type": "text", "text": "Done."}]))
    text = "\n".join(
        json.dumps(
            {
                "type": role,
                "uuid": f"{name}-line-{number}",
                "sessionId": name,
                "cwd": "/home/alice/shop",
                "message": {"role": role, "content": content},
            }
        )
        for number, (role, content) in enumerate(lines)
    )
    (folder / f"{name}.jsonl").write_text(text)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "sessions" / "claude-code"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def benchmark(tmp_path):
    def run(*arguments):
        out = StringIO()
        numbers = tmp_path / "numbers.json"
        call_command(
            "benchmark",
            "agent",
            "--in-place",
            f"--data={tmp_path}",
            f"--json={numbers}",
            *arguments,
            stdout=out,
        )
        return json.loads(numbers.read_text()), out.getvalue()

    return run


def test_the_episode_that_holds_the_repair_is_counted(benchmark, folder):
    write_session(folder, "000", "What did the pull request change?", [FAILED, CURED])
    write_session(folder, "001", "Show the pull request", [FAILED, CURED])

    numbers, text = benchmark("--only=episodes")

    total = numbers["episodes"]["classes"][-1]
    assert total == {"class": "of the project", "failures": 1, "given": 1}
    assert numbers["episodes"]["episodes"] == 2
    assert numbers["episodes"]["misses"] == []
    assert "100%" in text
    assert not Project.objects.exists()


def test_a_repair_that_no_episode_holds_is_a_miss(benchmark, folder):
    interrupted = "[Request interrupted by user]"
    write_session(folder, "000", "What did it change?", [FAILED, CURED])
    with (folder / "000.jsonl").open("a") as file:
        line = {"type": "user", "uuid": "stop", "message": {"role": "user"}}
        line["message"]["content"] = [{"type": "text", "text": interrupted}]
        file.write("\n" + json.dumps(line))
    write_session(folder, "001", "Show the pull request", [FAILED, CURED])

    numbers, text = benchmark("--only=episodes")

    assert numbers["episodes"]["classes"][-1]["given"] == 0
    assert numbers["episodes"]["without_episode"] == 1
    assert "Missed, rank beyond 100: 001.jsonl, shell gh: unknown flag" in text


def test_the_failures_are_counted_without_a_project(benchmark, folder):
    write_session(folder, "000", "What did it change?", [FAILED, CURED])

    numbers, text = benchmark("--only=failures")

    assert numbers["failures"]["calls"] == 2
    assert numbers["failures"]["failures"] == 1
    assert "1 failures of 2 calls in 1 sessions" in text


def test_a_folder_without_sessions_is_refused(benchmark):
    with pytest.raises(CommandError, match="holds no transcripts"):
        benchmark("--only=episodes")
