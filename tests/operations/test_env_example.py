"""`.env.example` names what the settings read, with the defaults that they have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.conf import settings

BASE = Path(settings.BASE_DIR)
NAME = re.compile(r"^#?([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)
NAMED = re.compile(r"[A-Z][A-Z0-9_]*")
ASKS = re.compile(r"env\.\w+|[a-z_]+")
# Read by the code that starts the processes, not by the settings.
STARTERS = [
    "gunicorn.conf.py",
    "memory_project/asgi.py",
    "embedded/up.py",
    "embedded/service_note.py",
    "compose.yaml",
]


@pytest.fixture(scope="module")
def listed_names():
    return dict(NAME.findall((BASE / ".env.example").read_text()))


@pytest.fixture(scope="module")
def names_read():
    """{name: default} of every environment variable that the settings read.

    Defaults that are no constants are None.
    """
    tree = ast.parse((BASE / "memory_project" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return dict(name_read(call) for call in calls if is_env_call(call))


def is_env_call(call):
    """Whether it is `env.str("NAME", ...)`, or a helper of the settings on a name."""
    name = call.args[0].value if call.args and is_text(call.args[0]) else ""
    function = ast.unparse(call.func)
    return bool(NAMED.fullmatch(name) and ASKS.fullmatch(function))


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def name_read(call):
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    node = given.get("default") or call.args[1]
    return call.args[0].value, as_text(node)


def as_text(node):
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Call)]
    if parts:
        return None
    value = eval(compile(ast.Expression(node), "default", "eval"))
    if isinstance(value, list):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_it_lists_every_name_that_the_settings_read(listed_names, names_read):
    assert not names_read.keys() - listed_names.keys()


def test_it_lists_no_name_that_nobody_reads(listed_names, names_read):
    others = "".join((BASE / name).read_text() for name in STARTERS)

    unread = [
        name for name in listed_names.keys() - names_read.keys() if name not in others
    ]

    assert not unread


def test_it_has_the_defaults_of_the_settings(listed_names, names_read):
    other = {
        name: (listed_names[name], default)
        for name, default in names_read.items()
        if default is not None
        and name in listed_names
        and listed_names[name] != default
    }

    assert not other


def test_copying_it_changes_nothing():
    lines = (BASE / ".env.example").read_text().splitlines()

    assert not [line for line in lines if line and not line.startswith("#")]


def test_the_page_of_settings_explains_each(listed_names):
    page = (BASE / "docs" / "settings.md").read_text()

    assert not [name for name in listed_names if f"`{name}`" not in page]
