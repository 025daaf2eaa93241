"""The errors in what programs print."""

from __future__ import annotations

import pytest

from ace import errors


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("HTTP/1.1 503 Service Unavailable", "503"),
        ('{"status_code": 404}', "404"),
        ("expected: 5, got: 4", "expectation"),
        ("f() missing 1 required positional argument: 'x'", "argument"),
        ("unexpected keyword argument 'path'", "argument"),
        ("EACCES: permission denied, open '/etc/x'", "permission"),
        ("429 Too Many Requests: rate limit reached", "rate_limit"),
        ("read timed out after 30s", "timeout"),
        ("cat: a.py: No such file or directory", "not_found"),
        ("'utf-8' codec can't decode byte 0xff", "encoding"),
        ("No module named 'flask'", "dependency"),
        ("bash: terraform: command not found", "environment"),
        ("database is locked", "concurrency"),
        ("invalid API key provided", "auth"),
        ("FAILED tests/a.py::test_x - assert 1 == 2", "test_failure"),
        ("--- FAIL: TestLogin (0.00s)", "test_failure"),
        ("error[E0382]: borrow of moved value", "E0382"),
        ("src/a.ts(3,5): error TS2322: Type 'x'", "TS2322"),
        ("a.py:3: error: Bad return  [return-value]", "return-value"),
        ("a.py:1:80: E501 Line too long", "E501"),
        ("thread 'main' panicked at src/main.rs:4:5:", "panicked"),
        ("panic: runtime error: index out of range", "panic"),
        ("fatal: The current branch has no upstream branch.", "error"),
        ("django.db.utils.OperationalError: no such table: x", "django.db.utils.OperationalError"),
    ],
)  # fmt: skip
def test_each_form_is_known(line, kind):
    (found,) = errors.find(f"Running the tests\n{line}\n")

    assert found.type == kind


@pytest.mark.parametrize(
    "text",
    [
        "The task waits.\nAsk Bob for a decision.",
        "process finished with exit code 3",
        "Traceback (most recent call last):",
        "warning: unused variable",
        "",
    ],
)
def test_what_only_leads_to_an_error_is_none(text):
    assert errors.find(text) == []


def test_its_span_is_its_line():
    text = "go\n\x1b[31mError: bad\x1b[0m\nbye"

    (found,) = errors.find(text)

    assert text[found.start : found.end] == "\x1b[31mError: bad\x1b[0m"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timed out after 31s", "timed out after 29s"),
        ("not found: id 0x1f3a", "not found: id 0x99"),
        ("timed out at 2024-05-20T10:11:12Z", "timed out at 2025-01-02T03:04:05Z"),
        ("/tmp/x1/a.py: No such file", "/home/al/a.py: No such file"),
        ("flight HAT030 does not exist", "flight HAT223 does not exist"),
    ],
)
def test_the_same_error_has_one_key(one, other):
    assert len({errors.find(text)[0].key for text in (one, other)}) == 1


def test_another_error_has_another_key():
    texts = ("HTTP 404 for a", "HTTP 500 for a", "a.py:1:1: E501 x", "a.py:1:1: E502 x")

    assert len({errors.find(text)[0].key for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "Exit code 1\n[lint] $ golangci-lint run\na.go:3:5: not checked (errcheck)\n\tsave()",
            ["a.go:3:5: not checked (errcheck)"],
        ),
        (
            "Exit code 1\n> eslint .\n\nsrc/cart.ts:3:5: 'x' is never used",
            ["src/cart.ts:3:5: 'x' is never used"],
        ),
        ("Exit code 1\nThe cart is closed.\nTry later.", ["The cart is closed."]),
        ("Exit code 1", ["Exit code 1"]),
        ("", []),
    ],
)
def test_the_lines_are_what_the_program_says_and_no_exit_code(text, lines):
    assert errors.choose_lines(text) == lines


def test_the_same_message_counts_once_wherever_it_is_and_whatever_it_names():
    text = "\n".join(
        [
            "a.go:3:5: Error return value of `save` is not checked (errcheck)",
            "b/c.go:90:7: Error return value of `load` is not checked (errcheck)",
            "b/c.go:91:2: func `price` is unused (unused)",
        ]
    )

    first, _, third = text.split("\n")
    assert errors.find_lines(text) == [first, third]


def test_a_long_line_keeps_its_end_where_a_linter_names_the_rule():
    (line,) = errors.find_lines(f"a.go:3:5: unwrapped: {'x' * 400} (wrapcheck)")

    assert line.startswith("a.go:3:5: unwrapped: x")
    assert line.endswith("(wrapcheck)")
    assert len(line) <= errors.MAX_SHOWN + 3


def test_a_call_states_its_last_exception():
    text = (
        "KeyError: 'a'\nDuring handling of the above exception:\nValueError: no price"
    )

    stated = errors.state(text)

    assert stated
    assert stated.type == "ValueError"
