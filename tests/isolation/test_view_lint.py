"""A door reaches rows through `visible_to(caller)` and has no other way to get one."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.urls import URLResolver, get_resolver

# A file or folder of such a name holds doors, wherever it lies.
DOORS = {"views", "admin", "serializers", "tasks", "commands", "console"}
WALLS = {"visible_to", "deleted_for", "none"}
# Managers other than `objects` would be another way in.
MANAGERS = {"objects", "_base_manager", "_default_manager"}

# "file: function": why the rows need no caller.
ALLOWED = {
    "access/tasks.py: housekeeping": "the system removes what has served its time",
    "access/views/projects.py: get": "members of the project that `get_project()` let through",
    "console/jobs/schedules.py: heartbeats": "of the installation, for its owners' page",
    "jobs/tasks.py: sweep": "the system wakes what is due",
    "memories/tasks.py: refresh_statistics": "the system counts words",
    "playbook/tasks.py: refresh_statistics": "the system counts words",
    "ace/management/commands/replay.py: in_process": "whoever has a shell owns all",
    "ace/management/commands/replay.py: handle": "whoever has a shell owns all",
}


def files():
    root = Path(settings.BASE_DIR)
    for config in apps.get_app_configs():
        folder = Path(config.path)
        if folder.parent == root:
            yield from folder.rglob("*.py")


def doors():
    root = Path(settings.BASE_DIR)
    for path in files():
        if DOORS & {*path.relative_to(root).with_suffix("").parts}:
            yield path


def open_reads(tree):
    """The calls on a manager that no wall stands before: (function, code).

    A chain is walled by a method of WALLS, or by a condition that is itself walled:
    `filter(memory__in=seen)`, where `seen` came through one.
    """
    parents = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and node.attr in MANAGERS):
            continue
        chain, scope = whole_chain(node, parents), function_around(node, parents)
        # The wall's own definition, in the admin of a model without a manager's.
        if name_of(scope) != "visible_to" and not is_walled(chain, walled_names(scope)):
            yield name_of(scope), ast.unparse(chain)


def whole_chain(node, parents):
    """From `Model.objects` outwards to the last call or attribute on it."""
    while True:
        above = parents.get(node)
        is_next = isinstance(above, ast.Attribute) or (
            isinstance(above, ast.Call) and above.func is node
        )
        if not is_next:
            return node
        node = above


def is_walled(node, names):
    return any(
        (isinstance(inner, ast.Attribute) and inner.attr in WALLS)
        or (isinstance(inner, ast.Name) and inner.id in names)
        for inner in ast.walk(node)
    )


def walled_names(scope):
    """What a function calls the rows that came through a wall."""
    names = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and is_walled(node.value, names):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return names


def function_around(node, parents):
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef):
            break
    return node


def name_of(scope):
    return getattr(scope, "name", "module")


def found():
    root = Path(settings.BASE_DIR)
    for path in doors():
        for place, code in open_reads(ast.parse(path.read_text())):
            yield f"{path.relative_to(root)}: {place}", code


def test_no_door_reads_rows_past_the_wall():
    broken = [f"{where}: {code}" for where, code in found() if where not in ALLOWED]

    assert not broken, "\n".join(broken)


def views(resolver):
    """The classes that the routes lead to."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern)
        elif view := getattr(pattern.callback, "view_class", None):
            yield view


def test_every_route_leads_to_a_door():
    lead_to = {Path(inspect.getfile(view)) for view in views(get_resolver())}

    assert lead_to & {*files()} <= {*doors()}


def test_every_exception_is_still_needed():
    assert set(ALLOWED) <= {where for where, _ in found()}


@pytest.mark.parametrize(
    ("code", "is_open"),
    [
        ("Memory.objects.all()", True),
        ("Memory.objects.filter(pk=1).visible", True),
        ("Memory.objects.visible_to(caller).get(pk=1)", False),
        ("Memory.objects.current().visible_to(caller)", False),
        ("f(Memory.objects).visible_to(caller)", True),
        ("self.model._base_manager.get(pk=1)", True),
        ("seen = A.objects.visible_to(c); B.objects.filter(a__in=seen)", False),
        ("seen = A.objects.all(); B.objects.filter(a__in=seen)", True),
    ],
)
def test_the_lint_tells_them_apart(code, is_open):
    assert bool(list(open_reads(ast.parse(code)))) == is_open
