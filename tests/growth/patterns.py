"""Every regular expression of the product, with the way in which the product uses it.

The compiler of `re` is watched while the modules of the product are imported, so this must
run in a process of its own. A later pattern joins by itself, wherever it is compiled: in a
table, a class, a cached function. Calls such as `re.sub(r"\\s+", …)` in functions are read
from the source.
"""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

BASE = Path(__file__).parents[2]
PACKAGES = tuple(
    sorted(
        init.parent.name
        for init in BASE.glob("*/__init__.py")
        if init.parent.name != "tests"
    )
)
_CALLS = frozenset({"compile", "search", "match", "fullmatch", "findall", "finditer"})
CALLS = _CALLS | {"sub", "subn", "split"}
# At one place of the text. All other ways try each place.
AT_START = frozenset({"match", "fullmatch"})
# Texts that make functions compile what they build themselves.
EXERCISE = (
    "Run `pip install acme-core` in src/app.py, never with --force: token = abc\n"
)


@dataclass(frozen=True)
class Pattern:
    """`way` is `fullmatch` or `match` if the product uses the pattern in no other way."""

    where: str
    compiled: re.Pattern[str]
    way: str


def record() -> list[Pattern]:
    """Import all modules of the product; return the patterns that it compiles."""
    found: dict[re.Pattern[str], set[str]] = {}
    places: dict[re.Pattern[str], str] = {}

    def note(made: re.Pattern[Any], place: tuple[Path, int]) -> None:
        if isinstance(made.pattern, str):
            path, line = place
            places.setdefault(made, f"{path.relative_to(BASE)}:{line}")
            found.setdefault(made, set()).update(_ways(path, line))

    compiler = re._compiler  # type: ignore[attr-defined]
    original = compiler.compile

    def compile_and_note(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        made: re.Pattern[Any] = original(pattern, flags)
        if place := _caller():
            note(made, place)
        return made

    compiler.compile = compile_and_note
    _exercise(_import_all())
    compiler.compile = original
    for made, place in _in_functions(set(places.values())):
        note(made, place)
    return [
        Pattern(places[made], made, min(ways) if len(ways) == 1 else "finditer")
        for made, ways in found.items()
    ]


def _caller() -> tuple[Path, int] | None:
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "re":
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    is_product = (
        path.is_relative_to(BASE) and path.relative_to(BASE).parts[0] in PACKAGES
    )
    return (path, frame.f_lineno) if is_product else None


def _import_all() -> list[Any]:
    import django

    django.setup()
    return [import_module(name) for name in _module_names()]


def _module_names() -> Iterator[str]:
    for package in PACKAGES:
        yield package
        for info in pkgutil.walk_packages([str(BASE / package)], f"{package}."):
            if ".migrations" not in info.name:
                yield info.name


def _exercise(modules: list[Any]) -> None:
    """Call the cached functions without parameters: they build what they return."""
    for module in modules:
        for value in list(vars(module).values()):
            function = getattr(value, "__wrapped__", None)
            if hasattr(value, "cache_info") and _takes_nothing(function):
                value()


def _takes_nothing(function: Any) -> bool:
    """Return whether a function of the product has no parameter."""
    is_product = function.__module__.split(".")[0] in PACKAGES
    return is_product and not function.__code__.co_argcount


def _in_functions(
    known: set[str],
) -> Iterator[tuple[re.Pattern[Any], tuple[Path, int]]]:
    """Yield the patterns of calls of `re` whose arguments are constants of the module."""
    for name in _module_names():
        module = sys.modules[name]
        path = Path(str(module.__file__))
        if "re." not in _texts()[path]:
            continue
        for line, call in _source(path).calls.items():
            if f"{path.relative_to(BASE)}:{line}" in known:
                continue
            try:
                made = re.compile(*_arguments(call, vars(module)))
            except NameError:
                continue  # an argument is a local variable: the compiler was watched
            yield made, (path, line)


def _arguments(call: ast.Call, names: dict[str, Any]) -> tuple[Any, int]:
    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "pattern", "eval"), dict(names))

    flags = [word.value for word in call.keywords if word.arg == "flags"]
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(_method(call), 2)
    flags += call.args[place : place + 1]
    return value(call.args[0]), int(value(flags[0])) if flags else 0


def _is_re_call(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in CALLS
        and bool(call.args)
    )


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


@dataclass(frozen=True)
class Source:
    """A file of the product: its calls of `re` by line, its global patterns by line.

    `uses` are the ways in which the file uses each name.
    """

    calls: dict[int, ast.Call]
    names: dict[int, str]
    uses: dict[str, set[str]]


def _ways(path: Path, line: int) -> set[str]:
    """Return how the product uses the pattern that it compiles in this line."""
    source = _source(path)
    call = source.calls.get(line)
    if call and (way := _method(call)) != "compile":
        return {_way(way, call.args[1:])}
    name = source.names.get(line, "")
    is_private = name.startswith("_")
    users = [source] if is_private or not name else _users(path.stem, name)
    ways = {way for user in users for way in user.uses.get(name, ())} if name else set()
    return ways or {"finditer"}


@cache
def _source(path: Path) -> Source:
    source = Source({}, {}, {})
    tree = ast.parse(_texts()[path])
    for node in tree.body:
        _note_global(source, node)
    direct: set[int] = set()
    for node in ast.walk(tree):  # a node comes before its parts
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if _is_re_call(node):
                source.calls[node.lineno] = node
            if name := _name(node.func.value):
                direct.update((id(node.func), id(node.func.value)))
                way = _way(node.func.attr, node.args)
                source.uses.setdefault(name, set()).add(way)
        elif isinstance(node, ast.Attribute) and node.attr in ("pattern", "flags"):
            direct.add(id(node.value))
        if id(node) not in direct and (name := _name(node)):
            source.uses.setdefault(name, set()).add("finditer")
    return source


def _note_global(source: Source, node: ast.stmt) -> None:
    """Note the global variable to which `re.compile` is given in these lines."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return
    if isinstance(node.value, ast.Call) and _is_re_call(node.value):
        for line in range(node.lineno, (node.end_lineno or 0) + 1):
            source.names[line] = node.targets[0].id


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _users(module: str, name: str) -> list[Source]:
    """Return the files that name a pattern and its module, and the module itself."""
    words = re.compile(rf"\b{module}\b"), re.compile(rf"\b{name}\b")
    return [
        _source(path)
        for path, text in _texts().items()
        if name in text
        and (path.stem == module or all(word.search(text) for word in words))
    ]


@cache
def _texts() -> dict[Path, str]:
    paths = (path for package in PACKAGES for path in (BASE / package).rglob("*.py"))
    return {path: path.read_text() for path in paths}


def _way(method: str, arguments: list[ast.expr]) -> str:
    """With a place to begin at, a caller may go from place to place."""
    return method if method in AT_START and len(arguments) == 1 else "finditer"
