"""The table of requirements is complete, and what it names exists."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from rest_framework.test import APIClient

ROOT = Path(__file__).parents[2]
IDS = Path(__file__).with_name("requirement_ids.txt").read_text().split()
# How many ids each document has: those of 003 are its own; the others are named after their
# sections, types and points.
COUNTS = {"000": 33, "001": 11, "002": 24, "REQ": 32, "004": 18}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def rows():
    lines = (ROOT / "docs" / "requirements.md").read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [[cell.strip("`") for cell in row] for row in cells if row[0] != "id"]


ROWS = rows()


@cache
def read_tests(path):
    """Return the tests of a file as pytest names them, without parameters."""
    tree = ast.parse((ROOT / path).read_text())
    functions = [node.name for node in tree.body if isinstance(node, FUNCTION)]
    methods = [
        f"{node.name}::{each.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, FUNCTION)
    ]
    return {name for name in functions + methods if "test_" in name}


@cache
def read_skips(path):
    """Return what keeps tests of a file from running on every machine."""
    always = r"mark\.(?:skip|xfail)\b|pytest\.(?:skip|xfail)\("
    return re.findall(always, (ROOT / path).read_text())


def test_every_requirement_of_the_five_documents_has_a_row():
    assert [row[0] for row in ROWS] == IDS
    assert len(set(IDS)) == len(IDS)
    assert Counter(each.partition("-")[0] for each in IDS) == COUNTS


def test_their_modules_and_their_tests_exist():
    missing = [row[0] for row in ROWS if not importlib.util.find_spec(row[2])]
    untested = [row[0] for row in ROWS if not has_test(row[4])]

    assert not missing
    assert not untested


def has_test(test):
    path, _, name = test.partition("::")
    return name in read_tests(path) and not read_skips(path)


@pytest.mark.django_db
def test_their_routes_exist():
    schema = APIClient().get("/api/schema").json()
    known = {
        operation["operationId"]
        for methods in schema["paths"].values()
        for operation in methods.values()
    }

    assert {row[3] for row in ROWS} - {"—"} <= known
