"""The output of `am`: texts and tables for people, JSON with `--json`, errors with a hint."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from agent_memory.connections import NotPossible
from agent_memory.errors import AgentMemoryError, Unreachable

# Documented in client/README.md.
FAILED = 1
UNREACHABLE = 3
NOT_POSSIBLE = 4
FAULTS_FOUND = 5

INDENT = "  "
TAB = 4  # columns


def make_console(*, is_stderr: bool = False) -> Console:
    """Return a console that reads no marks and no names of emoji in what it prints."""
    return Console(
        stderr=is_stderr,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        # Rich prints nothing where COLUMNS is 0, which means that it is not known.
        width=shutil.get_terminal_size().columns,
    )


console = make_console()
errors = make_console(is_stderr=True)


def say(text: str, *, is_error: bool = False) -> None:
    for line in text.split("\n"):
        typer.echo(_clean(line), err=is_error)


def _clean(line: str) -> str:
    """Put a space for any white space, and drop what else is not printable.

    That would move the cursor or turn the text around, and a text may come from anywhere.
    """
    spaced = (" " if each.isspace() else each for each in line.expandtabs(TAB))
    return "".join(filter(str.isprintable, spaced))


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


def print_rows(
    rows: Sequence[Any], columns: Mapping[str, str], *, as_json: bool
) -> None:
    """Print rows as JSON, or some of their fields as a table with these headings."""
    if as_json:
        print_json(list(rows))
        return
    if not rows:
        say("Nothing.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in columns.values():
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in columns))
    console.print(table)


def print_entries(
    rows: Sequence[Any], head: Sequence[str], texts: Sequence[str], *, as_json: bool
) -> None:
    """Print rows as JSON, or each as a line of its short fields with its texts below it.

    The first field is an id, which stays in one piece; a text has the whole width.
    """
    if as_json:
        print_json(list(rows))
    elif not rows:
        say("Nothing.")
    for row in () if as_json else rows:
        fields = (_write_scalar(row.get(name)) for name in head)
        say(_clean(INDENT.join(filter(None, fields))))
        for name in texts:
            for line in _wrap(_write_scalar(row.get(name)), INDENT, INDENT):
                say(line)


def print_fields(row: Mapping[str, Any]) -> None:
    """Print what a row has; nested values are indented below their name."""
    for line in _write_fields(row, ""):
        say(_clean(line))


def _write_fields(row: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in row.items():
        if isinstance(value, Mapping | list):
            if lines := list(_write_nested(value, indent + INDENT)):
                yield from (f"{indent}{name}:", *lines)
        elif value not in ("", None):
            text = f"{name}: {_write_scalar(value)}"
            yield from _wrap(text, indent, indent + INDENT)


def _write_nested(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _write_fields(value, indent)
        return
    for each in value:
        if isinstance(each, Mapping | list):
            lines = _write_nested(each, indent + INDENT)
        else:
            lines = _wrap(_write_scalar(each), indent + INDENT, indent + INDENT)
        for number, line in enumerate(lines):
            yield line if number else f"{indent}- {line.strip()}"


def _write_scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _wrap(text: str, first: str, others: str) -> Iterator[str]:
    """Break a text into lines of the terminal, and keep the lines that it has."""
    width = _find_width()
    for line in text.splitlines():
        lines = [f"{first}{line}".rstrip()]
        if len(lines[0]) > width > 0:
            lines = textwrap.wrap(
                line,
                width,
                tabsize=TAB,
                initial_indent=first,
                subsequent_indent=others,
                break_long_words=False,
                break_on_hyphens=False,
            )
        yield from lines
        first = others


def _find_width() -> int:
    """Return the columns of the terminal; 0 if the output goes into a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def write_time(text: str) -> str:
    """Write a time of the service as this machine's, to the minute."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"


def _cell(value: Any) -> str:
    """A cell's text, in one line."""
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, float):
        value = f"{value:.2f}"
    return " ".join(_clean(str(value)).split())


def fail(text: str, code: int = FAILED) -> NoReturn:
    say(text, is_error=True)
    raise typer.Exit(code)


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """Turn errors of the client and of files into words on stderr, or JSON, and an exit code."""
    try:
        yield
    except Unreachable as error:
        _fail(error.code, error.detail, error.hint, UNREACHABLE, as_json=as_json)
    except AgentMemoryError as error:
        _fail(error.code, error.detail, error.hint, FAILED, as_json=as_json)
    except NotPossible as error:
        _fail("not_possible", str(error), "", NOT_POSSIBLE, as_json=as_json)
    except OSError as error:
        if not error.filename:  # about a pipe or a connection, not about a file
            raise
        text = f"{error.filename}: {error.strerror}."
        _fail("not_possible", text, "", NOT_POSSIBLE, as_json=as_json)


def _fail(code: str, detail: str, hint: str, status: int, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"error": {"code": code, "detail": detail, "hint": hint}})
        raise typer.Exit(status)
    fail(" ".join(filter(None, [detail, hint])), status)
