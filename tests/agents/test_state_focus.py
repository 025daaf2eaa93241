"""What of a state finds episodes."""

from __future__ import annotations

from agents.recall.state_focus import describe_state

CALL = "Bash make lint"


def test_a_failed_call_is_its_command_and_the_lines_that_tell_the_errors():
    output = "Exit code 1\n$ ruff check .\nshop/a.py:3:1: F841 `x` is never used\nx = 1"

    assert describe_state(f"{CALL}\n{output}") == (f"{CALL}\nF841 `x` is never used")


def test_a_state_without_an_error_stays_as_it_is():
    state = "The gateway waits.\nBob decides tomorrow."

    assert describe_state(f" {state}\n") == state


def test_a_long_command_is_cut():
    described = describe_state(f"Bash {'x' * 5_000}\nValueError: no price")

    assert len(described) < 400
    assert described.endswith("ValueError: no price")
