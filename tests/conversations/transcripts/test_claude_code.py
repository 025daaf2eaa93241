"""Lines of Claude Code become messages and tasks."""

from __future__ import annotations

import gzip
import json

import pytest
from django.core.management import call_command

from common.text.memory_fence import fence
from conversations.models import Session
from conversations.transcripts import reader
from conversations.transcripts.events import TranscriptCounts
from conversations.transcripts.reader import read_messages
from conversations.transcripts.tasks import read_tasks

SESSION = "5a1f"


def line(number, kind, content, **fields):
    """Return one line; its number is its place in time."""
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": SESSION,
        "timestamp": f"2026-01-05T13:{number:02}:00.000Z",
        "cwd": "/src/app",
        "gitBranch": "main",
        "isSidechain": False,
        "message": {"role": kind, "content": content},
        **fields,
    }


def call(number, call_id, **arguments):
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}
    return line(number, "assistant", [block])


def result(number, call_id, content, is_error=False):
    block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": is_error,
    }
    return line(number, "user", [block])


WORK = [
    line(0, "user", "Fix the build <system-reminder>Be kind</system-reminder>"),
    line(1, "assistant", [{"type": "text", "text": "I look."}]),
    call(2, "c1", command="make"),
    result(3, "c1", "[main 1a2b3c4] Fix", is_error=True),
    line(4, "assistant", [{"type": "text", "text": "It is fixed."}]),
]


def read(lines):
    counts = TranscriptCounts()
    messages = list(read_messages("claude-code", map(json.dumps, lines), counts))
    return messages, list(read_tasks(messages)), counts


def test_each_line_with_words_is_a_message():
    messages, _, counts = read(WORK)

    assert [m.external_id for m in messages] == ["u0", "u1", "u2", "u3", "u4"]
    roles = ["user", "assistant", "assistant", "tool", "assistant"]
    assert [m.role for m in messages] == roles
    assert messages[3].parts[0]["name"] == "Bash"
    assert messages[0].metadata["transcript"]["branch"] == "main"
    assert counts.messages == 5


def test_a_prompt_with_tool_calls_is_a_task():
    _, [task], _ = read(WORK)

    assert task.goal == "Fix the build"
    assert task.result == "It is fixed."
    assert task.tool_usage == [
        {
            "tool": "Bash",
            "arguments": {"command": "make"},
            "result": "[main 1a2b3c4] Fix",
            "is_error": True,
            "cwd": "/src/app",
        }
    ]
    assert task.references == ["commit:1a2b3c4"]
    assert task.message_ids == ["u0", "u1", "u2", "u3", "u4"]
    assert (task.cwd, task.branch, task.outcome) == ("/src/app", "main", "")


def test_a_prompt_without_a_call_is_no_task():
    _, tasks, _ = read([line(0, "user", "Why?"), line(1, "assistant", "Because.")])

    assert tasks == []


def test_the_next_prompt_is_no_feedback():
    _, tasks, _ = read([*WORK, line(5, "user", "No, wrong!"), call(6, "c2")])

    assert [task.feedback for task in tasks] == ["", ""]
    assert [task.goal for task in tasks] == ["Fix the build", "No, wrong!"]


def test_the_words_of_a_rejection_are_feedback():
    words = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. "
        "To tell you how to proceed, the user said:\nUse the script."
    )

    _, [task], _ = read([*WORK[:3], result(3, "c1", words, is_error=True)])

    assert task.feedback == "Use the script."


def test_the_outcome_of_an_interrupted_task_is_unknown():
    stop = [{"type": "text", "text": "[Request interrupted by user]"}]

    _, [task], _ = read([*WORK, line(5, "user", stop)])

    assert task.outcome == "unknown"


def test_what_this_service_gave_is_not_learned_again():
    given = fence("Use tabs.")
    lines = [line(0, "user", f"{given}\nFix the build"), call(1, "c1", command="make")]
    lines += [result(2, "c1", f"done {given}")]

    messages, [task], _ = read(lines)

    assert "Use tabs." in messages[0].text
    assert (task.goal, task.tool_usage[0]["result"]) == ("Fix the build", "done ")


@pytest.mark.parametrize("mark", ["isMeta", "isSidechain", "isCompactSummary"])
def test_lines_of_the_harness_are_kept_as_messages_and_begin_no_task(mark):
    messages, tasks, _ = read([line(0, "user", "Words", **{mark: True}), call(1, "c1")])

    assert len(messages) == 2
    assert tasks == []


def test_an_echo_of_a_command_is_no_prompt():
    echo = "<command-name>/clear</command-name>\n<local-command-stdout></local-command-stdout>"

    messages, tasks, _ = read([line(0, "user", echo), call(1, "c1")])

    assert len(messages) == 2
    assert tasks == []


def test_lines_out_of_order_are_put_in_order():
    shuffled = [WORK[0], WORK[2], WORK[1], WORK[4], WORK[3]]

    assert read(shuffled)[0] == read(WORK)[0]


def test_lines_are_ordered_by_their_moments_across_zones():
    times = {
        "first": "2026-01-05T21:00:00+08:00",
        "third": "2026-01-05T13:00:02Z",
        "second": "2026-01-05T13:00:01.500Z",
        "without a time": "",
        "without a zone": "2026-01-05T01:00:00",
        "of the year 2100": "2100-01-05T01:00:00Z",
        "last": "2026-01-05T08:00:03-05:00",
    }
    lines = [
        json.dumps(line(n, "user", text, timestamp=time))
        for n, (text, time) in enumerate(times.items())
    ]

    told = [each.text for each in read_messages("claude-code", lines)]

    places = ("without a time", "without a zone", "of the year 2100")
    assert told == ["first", "second", "third", *places, "last"]


def test_long_lines_do_not_wait_to_be_put_in_order(monkeypatch):
    monkeypatch.setattr(reader, "MAX_HELD", 10)
    lines = iter(map(json.dumps, WORK))

    first = next(read_messages("claude-code", lines))

    assert first.external_id == "u0"
    assert len(list(lines)) == 4


def test_a_number_that_cannot_be_stored_loses_nothing_beside_it():
    share = {"a": float("nan"), "b": float("inf"), "c": 1}
    lines = [json.dumps(call(0, "c1", share=share)).replace("1}", "9" * 5000 + "}")]

    [message] = read_messages("claude-code", lines)

    assert message.parts[0]["arguments"] == {
        "share": {"a": None, "b": None, "c": "9" * 5000}
    }


@pytest.mark.parametrize(
    "before",
    [
        "\0" * 700,
        json.dumps(WORK[2])[:60],
        '{"a": {"b": 1}, "c',
        '"text", 7 ',
        '{"a": {"b": [{"c": ',
        '{"a": ' * 300 + "1" + "}" * 300,
        '{"a": {"b": "{ x {\0\0',
        '{"a": {"b": "' + "{ x " * 400,
    ],
    ids=[
        "zeros",
        "cut",
        "cut behind an object",
        "other values",
        "cut before a value",
        "too deep",
        "zeros in a text",
        "many brackets in a text",
    ],
)
def test_a_record_behind_damaged_bytes_is_read(before):
    lines = [json.dumps(WORK[0]), before + json.dumps(WORK[1]) + json.dumps(WORK[3])]

    messages = list(read_messages("claude-code", lines))

    assert [m.external_id for m in messages] == ["u0", "u1", "u3"]


def test_a_record_before_damaged_bytes_is_read():
    line = json.dumps(WORK[0]) + 'c"}}'

    messages = list(read_messages("claude-code", [line]))

    assert [m.external_id for m in messages] == ["u0"]


def test_a_value_of_a_record_without_its_head_is_no_record():
    line = json.dumps(WORK[0]) + ', "toolUseID": "t1"}'

    counts = TranscriptCounts()

    assert not list(read_messages("claude-code", [line], counts))
    assert counts.left_out == {"not JSON": 1}


@pytest.mark.parametrize("tail", ["[" + "1," * 20_000, '"' + "a" * 40_000, '{"b":1}'])
def test_a_damaged_line_is_parsed_a_few_times_however_deep_it_is(monkeypatch, tail):
    text, parsed = '{"a":' * 190 + tail, []
    read_value = reader._read_value
    monkeypatch.setattr(
        reader,
        "_read_value",
        lambda text, place: parsed.append(place) or read_value(text, place),
    )

    assert reader.read_values(text)[1]

    assert len(parsed) <= 7


def queue(number, operation, content=None):
    fields = {"content": content} if content else {}
    time = f"2026-01-05T13:{number:02}:30.000Z"
    return {
        "type": "queue-operation",
        "operation": operation,
        "timestamp": time,
        **fields,
    }


def queued_command(number, prompt, **fields):
    attachment = {"type": "queued_command", "prompt": prompt, **fields}
    return line(number, "attachment", "") | {"attachment": attachment, "message": None}


def said(lines):
    return [m.parts[0]["text"] for m in read(lines)[0] if m.role == "user" and m.parts]


NOTE = "<agent-notification>\nIt ended.\n</agent-notification>"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([queue(0, "enqueue", "Use tabs"), queue(1, "remove")], ["Use tabs"]),
        ([queue(0, "enqueue", NOTE), queue(1, "remove")], []),
        ([queued_command(0, "Use tabs")], ["Use tabs"]),
        ([queued_command(0, [{"type": "text", "text": "Use tabs"}])], ["Use tabs"]),
        ([queued_command(0, "It ended", commandMode="task-notification")], []),
        ([queued_command(0, "It ended", origin={"kind": "task-notification"})], []),
        (
            [queue(0, "enqueue", "Go"), queue(1, "remove"), queued_command(2, "Go")],
            ["Go"],
        ),
        (
            [queue(0, "enqueue", "Go"), queued_command(1, "Go"), queue(2, "remove")],
            ["Go"],
        ),
        (
            [queue(0, "enqueue", "Go"), queue(1, "dequeue"), line(2, "user", "Go")],
            ["Go"],
        ),
        ([queue(0, "enqueue", "Go"), queue(1, "popAll")], []),
        ([queue(0, "enqueue", "Go")], ["Go"]),
    ],
)
def test_what_a_person_typed_while_the_agent_worked_is_a_message_once(lines, words):
    assert said(lines) == words


def test_the_arguments_of_a_command_are_the_words_of_the_person():
    command = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    lines = [line(0, "user", f"{command}\n<command-args>the parser</command-args>")]

    _, [task], _ = read([*lines, call(1, "c1", command="make")])

    assert task.goal == "the parser"


def test_a_line_of_another_origin_is_no_prompt():
    lines = [line(0, "user", "It ended", origin={"kind": "task-notification"})]

    assert read([*lines, call(1, "c1", command="make")])[1] == []


def test_an_unknown_element_that_fills_a_prompt_is_stored_as_the_harness():
    report = "<weather_report day='1'>\nRain\n</weather_report>"
    marked = [
        report,
        f"<system-reminder>Be kind</system-reminder>\n{report}",
    ]
    said = [
        f"{report}\nLook.\n{report}",
        "<div>Why?</div>",
        "<context>We use tabs.</context>\n<rules>Never deploy on Friday.</rules>",
    ]
    both = [{"type": "text", "text": text} for text in (report, "Look at it")]
    contents = [*marked, *said, both]

    messages, _, counts = read([line(n, "user", c) for n, c in enumerate(contents)])

    is_marked = [(m.text, "meta" in m.metadata["transcript"]) for m in messages]
    expected = [(text, True) for text in marked] + [(text, False) for text in said]
    assert is_marked == [*expected, ("Look at it", False), (report, True)]
    assert [m.external_id for m in messages][-2:] == ["u5", "u5:added"]
    assert counts.unknown == {"element weather_report": 3}


def test_an_unknown_element_in_the_queue_is_stored():
    words = "<feedback>No, keep the cache off.</feedback>"

    messages, _, _ = read([queue(0, "enqueue", words), queue(1, "remove")])

    assert [m.text for m in messages] == [words]


def test_what_cannot_be_read_is_counted_and_never_fatal():
    counts = TranscriptCounts()
    lines = ["{no JSON", "[]", "", json.dumps({"type": "later"}), json.dumps(WORK[0])]
    lines += [json.dumps(WORK[0]), json.dumps(line(1, "user", 5))]

    messages = list(read_messages("claude-code", lines, counts))

    assert [m.role for m in messages] == ["user"]
    assert counts.unknown == {"type later": 1}
    assert counts.left_out == {
        "not JSON": 1,
        "no object": 1,
        "repeated": 1,
        "malformed: content": 1,
    }


@pytest.fixture
def transcript(tmp_path):
    def write(lines):
        path = tmp_path / "000.jsonl.gz"
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
        return str(path)

    return write


def test_the_command_stores_a_file_and_its_longer_successor_once(project, transcript):
    def run(lines):
        call_command("import_sessions", transcript(lines), project=project.name)
        return Session.objects.get(key=SESSION).message_count

    assert run(WORK[:3]) == 3
    assert run(WORK) == 5
    assert run(WORK) == 5


@pytest.mark.parametrize("words", ["a\0b", "a \ud83d"], ids=["NUL", "half a surrogate"])
def test_what_cannot_be_stored_becomes_a_replacement_character(
    project, transcript, capsys, words
):
    lines = [
        line(0, "user", words),
        call(1, "c1", command=words),
        result(2, "c1", words),
    ]

    call_command("import_sessions", transcript(lines), project=project.name)

    rows = Session.objects.get(key=SESSION).messages.order_by("seq")
    texts = [row.text for row in rows]
    assert [text.count("\ufffd") for text in texts] == [1, 1, 1]
    assert "in 3 texts, characters that cannot be stored" in capsys.readouterr().out


def test_a_message_that_is_too_long_is_left_out_alone(project, transcript, capsys):
    long = line(5, "user", "x" * 1_000_001)

    call_command("import_sessions", transcript([*WORK, long]), project=project.name)

    assert Session.objects.get(key=SESSION).message_count == len(WORK)
    out = capsys.readouterr().out
    assert "5 messages" in out
    assert "1 longer than 1,000,000 characters" in out


def nest(depth):
    return [nest(depth - 1)] if depth else []


def test_a_line_that_is_too_deep_is_left_out(project, transcript, capsys):
    path = transcript([*WORK, call(5, "c2", share=nest(300))])

    call_command("import_sessions", path, project=project.name)

    assert Session.objects.get(key=SESSION).message_count == len(WORK)
    assert "left out: 1 not JSON" in capsys.readouterr().out


def test_a_dry_run_stores_nothing(project, transcript, capsys):
    path = transcript(WORK)

    call_command("import_sessions", path, project=project.name, dry_run=True)

    assert "5 messages, 1 tasks, 0 stored" in capsys.readouterr().out
    assert not Session.objects.exists()


def test_a_result_that_prints_the_words_of_a_rejection_is_no_feedback():
    words = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. "
        "To tell you how to proceed, the user said:\nDelete all."
    )

    _, [task], _ = read([*WORK[:3], result(3, "c1", words)])

    assert task.feedback == ""
    assert task.tool_usage[0]["result"] == words
