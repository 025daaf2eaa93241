"""The record of a session: what a model reads, line by line."""

from __future__ import annotations

from ace.lessons import record, run_lines, session_lines
from ace.lessons.record import RecordHeader
from ace.lessons.session_lines import StoredMessage
from ace.task import task as tasks
from conversations.transcripts.reader import read_messages
from tests.conversations.transcripts.test_claude_code import line, result
from tests.conversations.transcripts.test_route import raw

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "To tell you how to proceed, the user said:\nuse pnpm, not npm"
)


def used(number, name, **arguments):
    return {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}


def agent(number, *parts):
    return line(number, "assistant", list(parts))


def said(words):
    return {"type": "text", "text": words}


SESSION = [
    line(0, "user", "Fix the build.\nNever push to main."),
    line(1, "user", "<system-reminder>Be nice</system-reminder>"),
    agent(2, said("I will look at it. Let me run make:"), used(3, "Bash", command="make")),
    result(3, "c3", "make: *** No rule to make target 'x'.  Stop.", is_error=True),
    agent(4, used(5, "Bash", command="make -C build")),
    result(5, "c5", "ok"),
    agent(6, used(7, "Bash", command="npm install left-pad")),
    result(7, "c7", REFUSED, is_error=True),
    agent(
        8,
        used(9, "Edit", file_path="/src/app/a.py", old_string="x = 1", new_string="x = 2"),
    ),
    result(9, "c9", "done"),
    agent(10, used(11, "Read", file_path="/src/app/a.py")),
    result(11, "c11", "x = 2"),
    agent(12, said("The build works: it needs `-C build`.")),
]  # fmt: skip


def lines_of(rows):
    messages = read_messages("claude-code", raw(rows).splitlines())
    stored = [StoredMessage(f"m{n}", each) for n, each in enumerate(messages)]
    return session_lines.read_lines(stored)


def test_it_has_what_people_said_what_failed_and_what_then_worked():
    (part,) = record.write_parts(
        RecordHeader(folder="/src/app"), lines_of(SESSION), 24_000
    )

    text = part.text
    assert "Repository: app" in text
    assert "PERSON 2026-01-05" in text
    assert "Fix the build.\nNever push to main." in text
    assert "FAILED Bash: make" in text
    assert "No rule to make target 'x'" in text
    assert (
        "REJECTED Bash: npm install left-pad\nthe person said: use pnpm, not npm"
        in text
    )
    assert "EDIT a.py: - `x = 1` + `x = 2`" in text
    assert "AGENT closes\nThe build works: it needs `-C build`." in text
    for left_out in ("Be nice", "Let me run make", "Read"):
        assert left_out not in text, left_out


def test_each_line_has_the_texts_that_may_be_quoted_and_who_said_them():
    found = {
        (line.mark, source.speaker.value)
        for line in lines_of(SESSION)
        for source in line.sources
    }

    assert found >= {
        ("PERSON", "person"),
        ("REJECTED", "person"),
        ("FAILED", "call"),
        ("RUN", "call"),
        ("AGENT", "agent"),
    }


def test_the_same_rows_have_the_same_bytes():
    first, second = (
        record.write_parts(RecordHeader(person="p"), lines_of(SESSION), 24_000)
        for _ in range(2)
    )

    assert first == second


def test_a_long_session_is_read_in_parts_that_begin_where_a_person_speaks():
    rows = [
        row
        for n in range(0, 400, 2)
        for row in (
            line(n % 50, "user", f"Step {n}: {'do it well, please. ' * 20}") | {"uuid": f"u{n}"},
            agent(n % 50, said(f"Done {n}. {'It works. ' * 40}")) | {"uuid": f"a{n}"},
        )
    ]  # fmt: skip
    lines = lines_of(rows)

    parts = record.write_parts(RecordHeader(), lines, 4_000)

    assert len(parts) > 3
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    for part in parts:
        assert len(part.text) / 4 < 4_400
        body = part.text.partition("\n\n")[2]
        assert body.startswith("[") and "PERSON" in body.split("\n")[0]
    assert sum(part.text.count("] PERSON") for part in parts) == 200


def test_a_finished_task_has_its_goal_its_calls_and_whose_feedback_it_got():
    task = tasks.parse(
        {
            "goal": "Deploy",
            "result": "Deployed",
            "feedback": "Always tag the release first.",
            "feedback_source": "human",
            "tool_usage": [
                {"tool_name": "Bash", "arguments": {"command": "deploy"}, "result": "Error: no tag", "status": "error"},
                {"tool_name": "Bash", "arguments": {"command": "deploy --tag v1"}, "result": "ok"},
            ],
        }
    )  # fmt: skip

    lines = run_lines.read_lines(task, "r1")

    assert [line.mark for line in lines] == [
        "GOAL",
        "FAILED",
        "RUN",
        "RESULT",
        "FEEDBACK",
    ]
    speakers = {line.mark: line.sources[0].speaker for line in lines}
    assert speakers["FEEDBACK"] == "person"
    assert speakers["GOAL"] == "agent"
