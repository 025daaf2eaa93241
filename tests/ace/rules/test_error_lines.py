"""Which lines of a result tell its errors."""

from __future__ import annotations

import pytest

from ace.rules import error_lines


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
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n'
            "    load()\nValueError: no price for 12",
            ["ValueError: no price for 12"],
        ),
        ("Exit code 1\nThe cart is closed.\nTry later.", ["The cart is closed."]),
        ("Exit code 1", ["Exit code 1"]),
        ("", []),
    ],
)
def test_they_are_what_the_program_says_and_no_exit_code(text, lines):
    assert error_lines.choose_lines(text) == lines


def test_the_same_message_counts_once_wherever_it_is_and_whatever_it_names():
    text = "\n".join(
        [
            "a.go:3:5: Error return value of `save` is not checked (errcheck)",
            "b/c.go:90:7: Error return value of `load` is not checked (errcheck)",
            "b/c.go:91:2: func `price` is unused (unused)",
        ]
    )

    first, _, third = text.split("\n")
    assert error_lines.find_lines(text) == [first, third]


def test_a_long_line_keeps_its_end_where_a_linter_names_the_rule():
    text = f"a.go:3:5: unwrapped: {'x' * 400} (wrapcheck)"

    (line,) = error_lines.find_lines(text)

    assert line.startswith("a.go:3:5: unwrapped: x")
    assert line.endswith("(wrapcheck)")
    assert len(line) <= error_lines.MAX_LINE + 3


def test_prose_has_no_known_errors():
    assert error_lines.find_lines("The task waits.\nAsk Bob for a decision.") == []
