from __future__ import annotations

import pytest

from ace.rules import evidence, task


def parse(*calls, feedback="", source="human", **fields):
    usage = [
        {"tool_name": name, "arguments": arguments, "result": result}
        for name, arguments, result in calls
    ]
    return task.parse(
        {"goal": "g", "feedback": feedback, "feedback_source": source,
         "tool_usage": usage, **fields}
    )  # fmt: skip


def find(*calls, **fields):
    return evidence.find(parse(*calls, **fields))


def find_in_output(text):
    return find(("Bash", {"command": "make all"}, f"Error: run failed\n{text}"))


def kinds(spans):
    return {span.kind for span in spans}


TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/jobs/run.py", line 12, in main\n    load()\n'
    '  File "/usr/lib/python3.11/site-packages/lib/io.py", line 4, in load\n'
    "    raise ValueError\nValueError: bad row 7 after 31s\n"
)


class TestErrors:
    def test_a_traceback_has_its_type_message_and_last_project_frame(self):
        task_ = parse(("Bash", {"command": "make all"}, TRACEBACK))

        span = next(s for s in evidence.find(task_) if s.kind == "exception")

        assert (span.error_type, span.code) == ("ValueError", "run.py:main")
        assert span.message == "bad row 7 after 31s"
        quote = evidence.quote(task_, span)
        assert quote.lstrip().startswith('File "/srv/app/jobs/run.py", line 12')
        assert quote.endswith("after 31s")

    @pytest.mark.parametrize(
        ("text", "kind", "code"),
        [
            ("HTTP/1.1 503 Service Unavailable", "http_status", "503"),
            ('{"status_code": 404}', "http_status", "404"),
            ("process finished with exit code 3", "exit_code", "3"),
            ("expected: 5, got: 4", "expectation", None),
            ("f() missing 1 required positional argument: 'x'", "argument", None),
            ("unexpected keyword argument 'path'", "argument", None),
            ("EACCES: permission denied, open '/etc/x'", "permission", None),
            ("429 Too Many Requests: rate limit reached", "rate_limit", None),
            ("read timed out after 30s", "timeout", None),
            ("cat: a.py: No such file or directory", "not_found", None),
            ("'utf-8' codec can't decode byte 0xff", "encoding", None),
            ("No module named 'flask'", "dependency", None),
            ("database is locked", "concurrency", None),
            ("invalid API key provided", "auth", None),
            ("FAILED tests/a.py::test_x - assert 1 == 2", "test_failure", "tests/a.py::test_x"),
            ("--- FAIL: TestLogin (0.00s)", "test_failure", "TestLogin"),
            ("error[E0382]: borrow of moved value", "compiler", "E0382"),
            ("src/a.ts(3,5): error TS2322: Type 'x'", "compiler", "TS2322"),
            ("a.py:3: error: Bad return  [return-value]", "compiler", "return-value"),
            ("a.py:1:80: E501 Line too long", "lint", "E501"),
            ("- E999 SyntaxError: unmatched ']'", "lint", "E999"),
            ("thread 'main' panicked at src/main.rs:4:5:", "exception", None),
            ("panic: runtime error: index out of range", "exception", None),
        ],
    )  # fmt: skip
    def test_each_error_is_found(self, text, kind, code):
        assert (kind, code) in {(span.kind, span.code) for span in find_in_output(text)}

    def test_an_error_without_a_known_pattern_is_its_first_line(self):
        spans = find(("pay", {"id": 1}, "Error: card balance is too low\nmore"))

        assert [(s.kind, s.message) for s in spans] == [
            ("tool_error", "Error: card balance is too low")
        ]

    def test_a_call_that_worked_shows_no_error(self):
        assert find(("Read", {"file_path": "a.log"}, "x\nValueError: old")) == []

    def test_a_goal_that_quotes_an_error_is_no_evidence(self):
        assert find(goal="Explain ValueError: bad row, exit code 3") == []

    def test_feedback_of_people_is_scanned(self):
        assert "timeout" in kinds(find(feedback="The job timed out"))


class TestSignatures:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("timed out after 31s", "timed out after 29s"),
            ("not found: id 0x1f3a", "not found: id 0x99"),
            ("not found: 1b4e28ba-2fa1-11d2-883f-0016d3cca427",
             "not found: 2c4e28ba-2fa1-11d2-883f-0016d3cca428"),
            ("timed out at 2024-05-20T10:11:12Z", "timed out at 2025-01-02T03:04:05Z"),
            ("/tmp/x1/a.py: No such file or directory",
             "/home/al/a.py: No such file or directory"),
            ("flight HAT030 does not exist", "flight HAT223 does not exist"),
        ],
    )  # fmt: skip
    def test_the_same_error_has_one_signature(self, one, other):
        signatures = [
            {span.signature for span in find_in_output(text)} for text in (one, other)
        ]

        assert signatures[0] == signatures[1]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("HTTP 404 for a", "HTTP 500 for a"),
            ("a.py:1:1: E501 too long", "a.py:1:1: E502 too long"),
            ("No module named 'a'", "No module named 'b'"),
        ],
    )
    def test_another_error_has_another_signature(self, one, other):
        signatures = [
            {span.signature for span in find_in_output(text)} for text in (one, other)
        ]

        assert signatures[0] != signatures[1]


class TestHabits:
    def test_the_same_call_three_times_is_a_loop(self):
        call = ("Bash", {"command": "ls src"}, "a.py")

        assert "loop" in kinds(find(call, call, call))
        assert "loop" not in kinds(find(call, call))

    def test_another_result_is_no_loop(self):
        calls = [("Bash", {"command": "date"}, str(number)) for number in range(4)]

        assert "loop" not in kinds(find(*calls))

    def test_a_change_nobody_checked_is_noted(self):
        edit = ("Edit", {"file_path": "a.py", "old_string": "x"}, "ok")
        check = ("Bash", {"command": "pytest"}, "1 passed in 0.1s")

        assert "no_check" in kinds(find(check, edit))
        assert "no_check" not in kinds(find(edit, check))

    def test_a_repaired_call_gives_both_its_spans(self):
        task_ = parse(
            ("fetch", {"id": 1, "limit": 900}, "Error: limit must be at most 100"),
            ("fetch", {"id": 1, "limit": 100}, "[1]"),
        )
        spans = {span.kind: span for span in evidence.find(task_)}

        assert evidence.quote(task_, spans["failed_call"]) == '"limit": 900'
        assert evidence.quote(task_, spans["fixed_call"]) == '"limit": 100'


class TestWishes:
    @pytest.mark.parametrize(
        ("feedback", "kind"),
        [
            ("You should always run the linter.", "directive"),
            ("Use uv instead of pip.", "preference"),
            ("Next time, check the plan first.", "next_time"),
            ("Mocking the clock worked well because tests became stable.", "worked"),
        ],
    )
    def test_each_sentence_with_advice_is_found(self, feedback, kind):
        assert kind in kinds(find(feedback=feedback))

    @pytest.mark.parametrize(
        "feedback",
        ["This should work now.", "Should it be blue?", "Thanks!", "The build passed.",
         "It did not have to be so slow."],
    )  # fmt: skip
    def test_guesses_and_questions_are_no_advice(self, feedback):
        wishes = {"directive", "preference", "next_time", "worked"}

        assert not wishes & kinds(find(feedback=feedback))

    def test_the_span_is_the_sentence(self):
        task_ = parse(feedback="Good.\n- Always pin versions. Bye.")

        quotes = [evidence.quote(task_, span) for span in evidence.find(task_)]

        assert quotes == ["Always pin versions"] or quotes == ["Always pin versions."]


class TestLimits:
    def test_there_are_at_most_two_hundred(self):
        text = "Error: x\n" + "\n".join(
            f"a.py:{n}:1: E{n % 900 + 100} message {n}" for n in range(3_000)
        )
        calls = [("Bash", {"command": f"lint {n}"}, text) for n in range(20)]

        assert len(find(*calls)) <= evidence.MAX_EVIDENCE
