"""Lint: views, admin pages, serializers and tasks read rows only through `visible_to`."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.urls import URLResolver, get_resolver

# The files and folders of these names hold entry points, in every app.
ENTRY_POINTS = {"views", "admin", "serializers", "tasks", "commands", "console"}
FILTERS = {"visible_to", "deleted_for", "none"}
# Other managers than `objects` would be another way in.
MANAGERS = {"objects", "_base_manager", "_default_manager"}

# "file: function" to the reason why the rows need no caller.
ALLOWED = {
    "access/tasks.py: housekeeping": "the system removes what has served its time",
    "access/views/projects.py: get": "members of the project that `get_project()` let through",
    "console/jobs/schedules.py: heartbeats": "of the installation, for its owners' page",
    "jobs/tasks.py: sweep": "the system wakes what is due",
    "memories/tasks.py: refresh_statistics": "the system counts words",
    "playbook/tasks.py: refresh_statistics": "the system counts words",
    "conversations/tasks.py: refresh_statistics": "the system counts words",
    "conversations/tasks.py: retain": "the system archives and purges by the settings",
    "agents/tasks.py: end_idle_conversations": "the system ends what is idle",
    "agents/management/commands/demo_agent.py: learn": "whoever has a shell owns all",
    "agents/management/commands/demo_agent.py: find_or_create_project": "the same",
    "ace/tasks.py: ask_again": "the system asks the model again after an outage",
    "ace/management/commands/record.py: _find": "whoever has a shell owns all",
    "ace/management/commands/replay.py: in_process": "whoever has a shell owns all",
    "ace/management/commands/replay.py: handle": "whoever has a shell owns all",
}


def files():
    root = Path(settings.BASE_DIR)
    for config in apps.get_app_configs():
        folder = Path(config.path)
        if folder.parent == root:
            yield from folder.rglob("*.py")


def entry_points():
    root = Path(settings.BASE_DIR)
    for path in files():
        parts = path.relative_to(root).with_suffix("").parts
        if ENTRY_POINTS & {*parts, path.stem.rpartition("_")[2]}:
            yield path


def open_reads(tree):
    """Find calls on a manager without a filter by caller: (function, code).

    A chain is safe with a method of FILTERS, or with a condition that is itself safe:
    `filter(memory__in=seen)`, where `seen` comes from a safe chain.
    """
    parents = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and node.attr in MANAGERS):
            continue
        chain, scope = whole_chain(node, parents), function_around(node, parents)
        # The definition of the filter itself, in the admin of a model whose manager has none.
        if name_of(scope) != "visible_to" and not is_safe(chain, safe_names(scope)):
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


def is_safe(node, names):
    return any(
        (isinstance(inner, ast.Attribute) and inner.attr in FILTERS)
        or (isinstance(inner, ast.Name) and inner.id in names)
        for inner in ast.walk(node)
    )


def safe_names(scope):
    """The names that a function gives to rows of a safe chain."""
    names = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and is_safe(node.value, names):
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


def unsafe_reads():
    root = Path(settings.BASE_DIR)
    for path in entry_points():
        for place, code in open_reads(ast.parse(path.read_text())):
            yield f"{path.relative_to(root)}: {place}", code


def test_no_entry_point_reads_rows_without_the_filter():
    broken = [
        f"{where}: {code}" for where, code in unsafe_reads() if where not in ALLOWED
    ]

    assert not broken, "\n".join(broken)


def views(resolver):
    """The classes that the routes lead to."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern)
        elif view := getattr(pattern.callback, "view_class", None):
            yield view


def test_every_route_leads_to_an_entry_point():
    lead_to = {Path(inspect.getfile(view)) for view in views(get_resolver())}

    assert lead_to & {*files()} <= {*entry_points()}


def test_every_exception_is_still_needed():
    assert set(ALLOWED) <= {where for where, _ in unsafe_reads()}


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
def test_the_lint_distinguishes_them(code, is_open):
    assert bool(list(open_reads(ast.parse(code)))) == is_open
