"""Each harness's file becomes the same messages and the same task."""

from __future__ import annotations

import json

import pytest

from conversations.formats.message import content_text
from conversations.transcripts.events import (
    TranscriptContext,
    TranscriptCounts,
    recorded_fields,
)
from conversations.transcripts.reader import FORMATS, read_messages
from conversations.transcripts.tasks import prompt_of, read_tasks
from tests.conversations.transcripts.test_claude_code import WORK

START = 1_780_000_000  # a moment of 2026, in seconds since 1970


def at(second):
    return f"2026-05-28T20:26:{second:02}.000Z"


def codex_line(second, kind, **payload):
    return {"timestamp": at(second), "type": kind, "payload": payload}


def codex_item(second, kind, **item):
    return codex_line(second, "response_item", type=kind, **item)


def codex_words(second, role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_item(
        second, "message", role=role, content=[{"type": kind, "text": text}]
    )


FAILED_OUTPUT = json.dumps({"output": "no rule", "metadata": {"exit_code": 2}})
CODEX = [
    codex_line(0, "session_meta", id="s1", cwd="/src/app", git={"branch": "main"}),
    codex_line(1, "turn_context", cwd="/src/app", model="gpt-5"),
    codex_words(
        2, "user", "<environment_context>\n<cwd>/src/app</cwd>\n</environment_context>"
    ),
    codex_words(3, "user", "Fix the build"),
    codex_line(3, "event_msg", type="user_message", message="Fix the build"),
    codex_item(
        4,
        "reasoning",
        summary=[{"type": "summary_text", "text": "Look first."}],
        encrypted_content="gAAA",
    ),
    codex_item(
        5,
        "function_call",
        name="shell",
        arguments='{"command": ["make"]}',
        call_id="c1",
    ),
    codex_item(6, "function_call_output", call_id="c1", output=FAILED_OUTPUT),
    codex_item(
        7,
        "custom_tool_call",
        name="apply_patch",
        input="*** Begin Patch",
        call_id="c2",
        status="completed",
    ),
    codex_item(8, "custom_tool_call_output", call_id="c2", output="done"),
    codex_words(9, "assistant", "It is fixed."),
]


def copilot_event(number, kind, **data):
    return {
        "type": kind,
        "id": f"e{number}",
        "parentId": f"e{number - 1}" if number else None,
        "timestamp": at(number),
        "data": data,
    }


COPILOT = [
    copilot_event(
        0,
        "session.start",
        sessionId="s1",
        context={"cwd": "/src/app", "branch": "main"},
        selectedModel="gpt-5",
    ),
    copilot_event(
        1, "user.message", content="Fix the build", transformedContent="<now/>Fix"
    ),
    copilot_event(2, "assistant.turn_start", turnId="0"),
    copilot_event(
        3,
        "assistant.message",
        messageId="m1",
        content="",
        reasoningText="Look first.",
        toolRequests=[
            {"toolCallId": "c1", "name": "bash", "arguments": {"command": "make"}}
        ],
    ),
    copilot_event(4, "tool.execution_start", toolCallId="c1", toolName="bash"),
    copilot_event(
        5,
        "tool.execution_complete",
        toolCallId="c1",
        success=False,
        error={"message": "no rule"},
    ),
    copilot_event(
        6,
        "assistant.message",
        messageId="m2",
        content="",
        toolRequests=[{"toolCallId": "c2", "name": "edit", "arguments": {"path": "Makefile"}}],
    ),
    copilot_event(
        7,
        "tool.execution_complete",
        toolCallId="c2",
        success=True,
        result={"content": "done"},
    ),
    copilot_event(8, "assistant.message", messageId="m3", content="It is fixed."),
]  # fmt: skip


def gemini_call(call_id, name, args, status, **response):
    answer = [{"functionResponse": {"id": call_id, "name": name, "response": response}}]
    return {
        "id": call_id,
        "name": name,
        "args": args,
        "result": answer,
        "status": status,
        "timestamp": at(5),
    }


GEMINI_TURN = {
    "id": "g2",
    "timestamp": at(3),
    "type": "gemini",
    "content": "",
    "model": "gemini-3",
}
GEMINI_THOUGHTS = [
    {"subject": "Look", "description": "Look first.", "timestamp": at(3)}
]
GEMINI_CALLS = [
    gemini_call("c1", "run_shell_command", {"command": "make"}, "error", error="no rule"),
    gemini_call("c2", "replace", {"file_path": "Makefile"}, "success", output="done"),
]  # fmt: skip
GEMINI = [
    {"sessionId": "s1", "projectHash": "ab", "startTime": at(0), "lastUpdated": at(0)},
    {"id": "g1", "timestamp": at(1), "type": "user", "content": [{"text": "Fix the build"}]},
    {**GEMINI_TURN, "thoughts": GEMINI_THOUGHTS},
    {**GEMINI_TURN, "thoughts": GEMINI_THOUGHTS, "toolCalls": GEMINI_CALLS},
    {"$set": {"lastUpdated": at(6)}},
    {"id": "g3", "timestamp": at(7), "type": "gemini", "content": "It is fixed."},
]  # fmt: skip


def opencode_message(message_id, role, *parts, **info):
    return {
        "info": {
            "id": message_id,
            "sessionID": "s1",
            "role": role,
            "time": {"created": START * 1000},
            **info,
        },
        "parts": [
            {"id": f"{message_id}-{n}", "messageID": message_id, **part}
            for n, part in enumerate(parts)
        ],
    }


def opencode_tool(call_id, tool, **state):
    return {
        "type": "tool",
        "callID": call_id,
        "tool": tool,
        "state": {"time": {"start": START * 1000, "end": START * 1000 + 1}, **state},
    }


OPENCODE = {
    "info": {"id": "s1", "directory": "/src/app", "title": "Build", "version": "1.19"},
    "messages": [
        opencode_message(
            "u1",
            "user",
            {"type": "text", "text": "Fix the build"},
            {"type": "text", "text": "Called the Read tool", "synthetic": True},
        ),
        opencode_message(
            "a1",
            "assistant",
            {"type": "step-start"},
            {"type": "reasoning", "text": "Look first."},
            opencode_tool(
                "c1", "bash", status="error", input={"command": "make"}, error="no rule"
            ),
            opencode_tool(
                "c2",
                "edit",
                status="completed",
                input={"filePath": "Makefile"},
                output="done",
            ),
            {"type": "text", "text": "It is fixed."},
            modelID="gpt-5",
            path={"cwd": "/src/app", "root": "/src/app"},
        ),
    ],
}


SAMPLES = {
    "codex": CODEX,
    "copilot": COPILOT,
    "gemini": GEMINI,
    "opencode": [OPENCODE],
}


def read(name, lines):
    counts = TranscriptCounts()
    messages = list(read_messages(name, map(json.dumps, lines), counts))
    return messages, list(read_tasks(messages)), counts


def test_every_format_but_claude_code_has_a_sample():
    assert {*SAMPLES, "claude-code"} == set(FORMATS)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_prompt_with_its_calls_is_a_task(name):
    _, [task], counts = read(name, SAMPLES[name])

    assert (task.goal, task.result) == ("Fix the build", "It is fixed.")
    assert task.tool_usage[-1]["result"] == "done"
    assert not counts.unknown
    assert not [why for why in counts.left_out if why.startswith("malformed")]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_call_that_failed_is_an_error_with_the_words_of_the_tool(name):
    _, [task], _ = read(name, SAMPLES[name])

    assert [call["is_error"] for call in task.tool_usage] == [True, False]
    assert task.tool_usage[0]["result"] == "no rule"


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"gemini"}))
def test_the_folder_of_the_calls_is_known(name):
    _, [task], _ = read(name, SAMPLES[name])

    assert {call["cwd"] for call in task.tool_usage} == {"/src/app"}


@pytest.mark.parametrize("name", SAMPLES)
def test_thinking_is_kept_and_no_part_of_the_task(name):
    messages, [task], _ = read(name, SAMPLES[name])

    thoughts = [p for m in messages for p in m.parts if p["type"] == "thinking"]
    assert "first." in thoughts[0]["text"]
    assert "first." not in json.dumps([task.goal, task.result, task.tool_usage])


@pytest.mark.parametrize("name", SAMPLES)
def test_each_message_has_an_id_that_is_the_same_again(name):
    first, _, _ = read(name, SAMPLES[name])
    again, _, _ = read(name, SAMPLES[name])

    ids = [message.external_id for message in first]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert [message.external_id for message in again] == ids


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("value", [[], {}, {"type": 5}, {"type": "later", "x": 1}, 7])
def test_foreign_values_are_counted_and_never_fatal(name, value):
    _, tasks, counts = read(name, [value, *SAMPLES[name]])

    assert len(tasks) == 1
    assert sum((counts.unknown + counts.left_out).values()) > 0 or value == []


ODD_VALUES = (7, 10**400, 1e300, True, [], ["x"], {}, {"x": [1]})


def hostile(value, depth=0):
    """Yield copies of a value in which one inner value has another type."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: odd} for odd in ODD_VALUES)
            yield from ({**value, name: each} for each in hostile(inner, depth + 1))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            for each in hostile(inner, depth + 1):
                yield [*value[:n], each, *value[n + 1 :]]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_field_of_another_type_is_never_fatal(name):
    for lines in hostile(SAMPLES.get(name) or WORK):
        messages, _, _ = read(name, lines)
        assert isinstance(messages, list)


def test_what_codex_adds_to_a_prompt_is_no_prompt():
    messages, _, _ = read("codex", CODEX)

    added = [m for m in messages if "environment_context" in m.text]
    assert recorded_fields(added[0].metadata)["meta"] is True


@pytest.mark.parametrize("head", ["Exit code: 1\nWall time: 0.1 s\nOutput:\nno", "Process exited with code 1\nOutput:\nno"])  # fmt: skip
def test_the_exit_status_that_codex_states_in_words_is_read(head):
    lines = [
        *CODEX[:6],
        codex_item(
            6, "function_call", name="exec_command", arguments="{}", call_id="c1"
        ),
        codex_item(7, "function_call_output", call_id="c1", output=head),
    ]

    _, [task], _ = read("codex", lines)

    assert task.tool_usage[0]["is_error"]
    assert task.tool_usage[0]["result"] == head


def test_an_interrupted_task_has_an_unknown_outcome():
    stop = codex_line(10, "event_msg", type="turn_aborted", reason="interrupted")

    assert read("codex", [*CODEX, stop])[1][0].outcome == "unknown"
    abort = copilot_event(9, "abort", reason="user_initiated")
    assert read("copilot", [*COPILOT, abort])[1][0].outcome == "unknown"
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    stopped = opencode_message("a2", "assistant", error=error)
    export = {**OPENCODE, "messages": [*OPENCODE["messages"], stopped]}
    assert read("opencode", [export])[1][0].outcome == "unknown"


def test_a_chat_of_gemini_that_is_one_document_reads_the_same():
    header, *rest = GEMINI
    document = {**header, "messages": [rest[0], rest[2], rest[4]]}

    messages, tasks, _ = read("gemini", [document])

    of_lines, tasks_of_lines, _ = read("gemini", GEMINI)
    assert [m.parts for m in messages] == [m.parts for m in of_lines]
    assert [task.goal for task in tasks] == [task.goal for task in tasks_of_lines]


def test_results_name_their_tool():
    messages, _, _ = read("codex", CODEX)

    results = [p for m in messages for p in m.parts if p["type"] == "tool_result"]
    assert [part["name"] for part in results] == ["shell", "apply_patch"]
    assert content_text(results[1]["content"]) == "done"


@pytest.mark.parametrize("role", [{}, {"role": "later"}, {"role": "developer"}])
@pytest.mark.parametrize("kind", ["message", "agent_message"])
def test_what_codex_says_in_another_role_is_no_prompt(kind, role):
    words = [{"type": "input_text", "text": "Delete all"}]
    said = codex_item(2, kind, content=words, **role)

    messages, [task], _ = read("codex", [*CODEX[:2], said, *CODEX[3:]])

    (message,) = (each for each in messages if each.text == "Delete all")
    assert message.role == ("system" if kind == "message" else "assistant")
    assert (task.goal, task.result) == ("Fix the build", "It is fixed.")


def test_what_an_agent_of_codex_writes_to_another_is_no_result():
    words = [{"type": "output_text", "text": "Look here"}]
    said = codex_item(10, "agent_message", author="a", recipient="b", content=words)

    messages, [task], _ = read("codex", [*CODEX, said])

    assert recorded_fields(messages[-1].metadata)["sidechain"] is True
    assert task.result == "It is fixed."


class TestOldCodex:
    """Its lines have neither ids nor times."""

    LINES = [
        {"type": "message", "role": role, "content": [{"type": "text", "text": text}]}
        for role, text in [
            ("user", "Go on"),
            ("assistant", "Done."),
            ("user", "Go on"),
            ("user", "Go on"),
            ("assistant", "Done."),
        ]
    ]

    def read(self, lines, context=None):
        found = read_messages("codex", map(json.dumps, lines), context=context)
        return [(message.external_id, message.text) for message in found]

    def test_equal_lines_are_messages_of_their_own(self):
        found = self.read(self.LINES)

        assert [text for _, text in found] == [
            "Go on",
            "Done.",
            "Go on",
            "Go on",
            "Done.",
        ]
        assert len(dict(found)) == 5

    def test_they_have_the_same_ids_in_parts(self):
        whole = self.read(self.LINES)
        first = self.read(self.LINES[:3])
        context = TranscriptContext(message_id=first[-1][0])

        assert first + self.read(self.LINES[3:], context) == whole


@pytest.mark.parametrize(
    "words",
    [
        "<subagent_notification>\n{}\n</subagent_notification>",
        "<recommended_plugins>\nlists\n</recommended_plugins>",
        "<goal_context>\na goal\n</goal_context>",
        "<tomorrows_element>\nnobody knows it\n</tomorrows_element>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
        "<permissions instructions>all</permissions instructions>",
    ],
)
def test_what_codex_writes_in_a_persons_name_is_no_prompt(words):
    lines = [*CODEX[:4], codex_words(5, "user", words), *CODEX[4:]]

    assert [task.goal for task in read("codex", lines)[1]] == ["Fix the build"]


def test_behind_the_state_of_an_editor_stands_the_request():
    words = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it\n"
    lines = [*CODEX, codex_words(10, "user", words)]

    messages, _, _ = read("codex", lines)

    assert prompt_of(messages[-1]) == "Fix it"


def test_a_prompt_of_copilot_names_the_task_of_its_agent():
    prompt = copilot_event(1, "user.message", content="Fix it", parentAgentTaskId="t1")

    _, [task], _ = read("copilot", [COPILOT[0], prompt, *COPILOT[2:]])

    assert task.goal == "Fix it"


def failed_of_copilot():
    end = {"content": "bash: gti: command not found\n<exited with exit code 127>"}
    done = copilot_event(
        5, "tool.execution_complete", toolCallId="c1", success=True, result=end
    )
    return "copilot", [*COPILOT[:5], done, *COPILOT[6:]]


def failed_of_gemini():
    output = (
        "<untrusted_context>\nOutput: gti: command not found\nExit Code: 127\n"
        "Process Group PGID: 4711\n</untrusted_context>"
    )
    calls = [gemini_call("c1", "run_shell_command", {"command": "gti"}, "success", output=output)]  # fmt: skip
    return "gemini", [*GEMINI[:2], {**GEMINI_TURN, "toolCalls": calls}]


def failed_of_opencode():
    tool = opencode_tool(
        "c1",
        "bash",
        status="completed",
        input={"command": "gti"},
        output="gti: command not found",
        metadata={"exit": 127},
    )
    prompt, _ = OPENCODE["messages"]
    answer = opencode_message("a1", "assistant", tool)
    return "opencode", [{**OPENCODE, "messages": [prompt, answer]}]


@pytest.mark.parametrize(
    "sample", [failed_of_copilot, failed_of_gemini, failed_of_opencode]
)
def test_a_command_that_failed_in_a_call_that_worked_has_failed(sample):
    _, [task], _ = read(*sample())

    call = task.tool_usage[0]
    assert call["is_error"]
    assert "gti: command not found" in call["result"]
    assert "untrusted" not in call["result"] and "PGID" not in call["result"]


def test_what_gemini_puts_before_a_prompt_is_no_word_of_it():
    text = "<hook_context>Known of this</hook_context>\n\nFix it"
    prompt = {**GEMINI[1], "content": [{"text": text}]}

    _, [task], _ = read("gemini", [GEMINI[0], prompt, *GEMINI[2:]])

    assert task.goal == "Fix it"
