"""The table of requirements is complete, and what it names exists."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

import pytest
from rest_framework.test import APIClient

ROOT = Path(__file__).parents[2]
IDS = Path(__file__).with_name("requirement_ids.txt").read_text().split()
# Requirements that nothing answers yet: conversations (002) and the agent (004). The number
# only falls.
NOT_BUILT = 31
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def rows():
    lines = (ROOT / "docs" / "requirements.md").read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [[cell.strip("`") for cell in row] for row in cells if row[0] != "id"]


ROWS = rows()
BUILT = [row for row in ROWS if row[2] != "not built yet"]


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


def test_every_requirement_of_the_five_documents_has_a_row():
    assert [row[0] for row in ROWS] == IDS
    assert len(set(IDS)) == len(IDS) == 96
    assert sum(each.startswith("REQ-MEM-") for each in IDS) == 32


def test_fewer_and_fewer_are_not_built():
    assert len(ROWS) - len(BUILT) == NOT_BUILT


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row[0])
def test_its_module_and_its_test_exist(row):
    _, what, module, _, test = row
    path, _, name = test.partition("::")

    assert what
    assert importlib.util.find_spec(module), module
    assert name in read_tests(path), test


@pytest.mark.django_db
def test_their_routes_exist():
    schema = APIClient().get("/api/schema").json()
    known = {
        operation["operationId"]
        for methods in schema["paths"].values()
        for operation in methods.values()
    }

    assert {row[3] for row in BUILT} - {"—"} <= known
