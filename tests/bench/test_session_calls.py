from __future__ import annotations

import json

import pytest

from bench.judge.session_calls import (
    EditHunk,
    ReadCounts,
    SessionCall,
    read_sessions,
)


def prompt_line(uuid: str, text: str) -> dict[str, object]:
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}


def call_line(uuid: str, call_id: str, command: str = "make") -> dict[str, object]:
    block = {
        "type": "tool_use",
        "id": call_id,
        "name": "Bash",
        "input": {"command": command},
    }
    message = {"role": "assistant", "content": [block]}
    return {
        "type": "assistant",
        "uuid": uuid,
        "cwd": "/home/a/shop",
        "message": message,
    }


def result_line(uuid: str, call_id: str, text: str = "done") -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {
        "type": "user",
        "uuid": uuid,
        "message": {"role": "user", "content": [block]},
    }


FIRST = [
    prompt_line("a1", "Build it"),
    call_line("a2", "call-1"),
    result_line("a3", "call-1"),
]


@pytest.fixture
def write(tmp_path):
    def write(name, lines):
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, lines)))
        return path

    return write


class TestSessions:
    def test_it_gives_each_call_its_result_its_folder_and_its_task(self, write):
        (session,) = read_sessions([write("1.jsonl", FIRST)])

        (call,) = session.calls
        assert (call.command, call.result, call.cwd) == ("make", "done", "/home/a/shop")
        assert session.tasks[call.task].goal == "Build it"
        assert session.calls_of(0) == (call,)

    def test_it_drops_the_calls_that_a_resumed_session_repeats(self, write):
        resumed = [
            *({**line, "uuid": f"again-{line['uuid']}"} for line in FIRST),
            call_line("b2", "call-2", "make test"),
            result_line("b3", "call-2"),
        ]
        counts = ReadCounts()

        paths = [write("1.jsonl", FIRST), write("2.jsonl", resumed)]
        _, second = read_sessions(paths, counts)

        assert [call.command for call in second.calls] == ["make test"]
        assert counts == ReadCounts(replayed=1, unanswered=0)

    def test_it_drops_a_call_without_a_result(self, write):
        counts = ReadCounts()

        lines = [*FIRST, call_line("a4", "call-9")]
        (session,) = read_sessions([write("1.jsonl", lines)], counts)

        assert [call.id for call in session.calls] == ["call-1"]
        assert counts.unanswered == 1


class TestCall:
    def test_a_command_may_be_a_list_whose_last_word_is_the_script(self):
        call = SessionCall("1", "shell", {"command": ["bash", "-lc", "cargo test"]})

        assert call.command == "cargo test"

    def test_a_command_of_an_editor_is_no_shell_command(self):
        call = SessionCall("1", "editor", {"command": "view", "path": "src/main.rs"})

        assert call.command == ""
        assert call.path == "src/main.rs"

    @pytest.mark.parametrize(
        "arguments",
        [
            {"old_string": "a", "new_string": "b"},
            {"old_str": "a", "new_str": "b"},
            {"edits": [{"old_string": "a", "new_string": "b"}]},
        ],
    )
    def test_it_knows_the_edits_of_several_harnesses(self, arguments):
        call = SessionCall("1", "Edit", {"file_path": "a.py", **arguments})

        assert call.hunks == (EditHunk("a", "b"),)

    def test_a_new_file_replaces_nothing(self):
        call = SessionCall("1", "Write", {"file_path": "a.py", "content": "x = 1"})

        assert call.hunks == (EditHunk("", "x = 1"),)
