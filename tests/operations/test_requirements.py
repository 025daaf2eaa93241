"""docs/requirements.md has a row for each requirement, and a test that runs every day."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
IDS = Path(__file__).with_name("requirement_ids.txt").read_text().split()
ROW = re.compile(r"^\| (00\d-\S+) \| (.+) \| `(.+)` \| (\d*) ?\|$", re.MULTILINE)
SKIPS = re.compile(r"\bimportorskip\(|mark\.skip|pytest\.skip\(")


@pytest.fixture(scope="module")
def rows():
    """Return (id, demand, test, issue) of each row."""
    return ROW.findall(PAGE.read_text())


@pytest.fixture(scope="module")
def marks(rows, request):
    """Return the marks of each test in the files of the table, by its node id.

    A test with parameters has the id without them, too.
    """
    found = {}
    for path in {test.partition("::")[0] for _, _, test, _ in rows}:
        if (ROOT / path).exists():
            module = pytest.Module.from_parent(request.session, path=ROOT / path)
            for item in collect_tests(module):
                named = {mark.name: mark for mark in item.iter_markers()}
                found[item.nodeid] = found[item.nodeid.partition("[")[0]] = named
    return found


def collect_tests(node):
    if isinstance(node, pytest.Item):
        return [node]
    return [test for child in node.collect() for test in collect_tests(child)]


def test_each_requirement_has_one_row_in_order(rows):
    assert [row[0] for row in rows] == IDS
    assert len(set(IDS)) == len(IDS) == 211


def test_each_line_of_a_table_is_a_row():
    lines = re.findall(r"^\| (?!id ).*$", PAGE.read_text(), re.MULTILINE)

    assert [line for line in lines if not ROW.match(line)] == []


def test_each_row_has_a_test_of_the_daily_run(rows, marks):
    wrong = [
        (name, test)
        for name, _, test, _ in rows
        if test not in marks
        or "slow" in marks[test]
        or SKIPS.search((ROOT / test.partition("::")[0]).read_text())
    ]

    assert not wrong


def test_a_row_is_open_if_its_test_is_expected_to_fail(rows, marks):
    wrong = [
        (name, issue, test)
        for name, _, test, issue in rows
        if read_issue(marks.get(test, {}).get("xfail")) != issue
    ]

    assert not wrong


def read_issue(xfail):
    """Return the issue that mends an expected failure; empty if there is no failure."""
    if xfail is None:
        return ""
    named = re.match(r"issue (\d+): \w", xfail.kwargs.get("reason", ""))
    return named[1] if named and xfail.kwargs.get("strict") is True else "no issue"


def test_no_other_test_of_the_requirements_is_expected_to_fail(rows, marks):
    shown = {test for _, _, test, issue in rows if issue}
    failing = {
        test.partition("[")[0]
        for test, named in marks.items()
        if "xfail" in named and test.startswith("tests/requirements/")
    }

    assert failing == shown
