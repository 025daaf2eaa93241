"""Print figures of the code's structure; fail on circles, arrows up and bad names.

Exit 1 if there is a circle of modules or of rooms, an import against a contract of
import-linter, a class name used twice, or a name that is a bare participle or gerund
(`told`, `kept_apart`, `Settling`) and has no reason in bin/house.toml. Tests, migrations
and var are left out, and so are modules that a program writes.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import grimp

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
IRREGULAR, OTHERS, LITTLE, NESTED = (
    frozenset(WORDS[name].split())
    for name in ("irregular", "others", "little", "nested")
)
ALLOWED: Mapping[str, str] = WORDS["allowed"]
LEFT_OUT = {"tests", "migrations", "var"}
GENERATED = "# Written by "  # how a module begins that a program writes
DJANGO = {"Command", "Media", "Meta", "Migration"}  # names that Django looks up
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Source:
    """A file of the product."""

    path: str
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The last part of the module's name; for a package, the name of its folder."""
        path = Path(self.path)
        return path.parent.name if path.stem == "__init__" else path.stem

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    def place(self, node: Any) -> str:
        return f"{self.path}:{node.lineno}"


def read_sources(root: Path) -> list[Source]:
    sources = []
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(n for n in inner if n not in LEFT_OUT and n[0] != ".")
        for path in (Path(folder, name) for name in sorted(names)):
            if path.suffix == ".py":
                short, text = path.relative_to(root).as_posix(), path.read_text()
                if text.startswith(GENERATED):
                    continue
                sources.append(Source(short, text, ast.parse(text)))
    return sources


# Lengths


def describe_lengths(what: str, lengths: Sequence[int]) -> str:
    if not lengths:
        return f"{what}: none"
    p95 = sorted(lengths)[int(len(lengths) * 0.95)]
    return f"{what}: {len(lengths):,}, median {median(lengths):g} lines, p95 {p95}"


def file_lengths(sources: Sequence[Source]) -> list[int]:
    """Count the lines of each file that are not blank; empty files are left out."""
    lengths = [sum(map(bool, map(str.strip, s.text.splitlines()))) for s in sources]
    return [length for length in lengths if length]


def function_lengths(sources: Sequence[Source]) -> list[int]:
    return [
        node.end_lineno - node.lineno + 1
        for source in sources
        for node in source.nodes(*FUNCTIONS)
    ]


def lines_by_app(sources: Sequence[Source]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for source in sources:
        top, slash, _ = source.path.partition("/")
        counts[top if slash else "(root)"] += source.text.count("\n")
    return counts


# Types


def count_any(sources: Sequence[Source]) -> int:
    """Count each `Any` in the annotation of a parameter or of what is returned."""
    return sum(
        isinstance(part, ast.Name) and part.id == "Any"
        for source in sources
        for function in source.nodes(*FUNCTIONS)
        for annotation in _annotations(function)
        for part in ast.walk(annotation)
    )


def _annotations(function: ast.FunctionDef) -> list[ast.expr]:
    of = function.args
    parameters = [*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg]
    annotations = [each.annotation for each in parameters if each]
    return [each for each in (*annotations, function.returns) if each]


def count_ignores(sources: Sequence[Source]) -> int:
    return sum(len(re.findall(r"# *type: *ignore", s.text)) for s in sources)


# Names


def is_participle(name: str) -> bool:
    """Return whether a name is a participle or gerund without a noun or a verb.

    Little words do not count as nouns or verbs. `as_told` is a bare participle, but
    `told_lines` and `is_told` are not.
    """
    words = [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    weighty = [word for word in words if word not in LITTLE]
    return bool(weighty) and all(map(_is_participle, weighty))


def _is_participle(word: str) -> bool:
    has_ending = word.endswith("ing") or (word.endswith("ed") and len(word) > 3)
    return word in IRREGULAR or (has_ending and word not in OTHERS)


def names(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """Yield each name of a module, class or function with its place; skip Python's own names."""
    for source in sources:
        yield source.name, source.path
        for node in source.nodes(ast.ClassDef, *FUNCTIONS):
            if not node.name.endswith("__"):
                yield node.name, source.place(node)


def find_participles(sources: Sequence[Source]) -> list[str]:
    return sorted(
        f"{name}  {place}"
        for name, place in names(sources)
        if is_participle(name) and name.strip("_") not in ALLOWED
    )


def find_unused_reasons(sources: Sequence[Source]) -> list[str]:
    """List the names in house.toml that the code does not have."""
    return sorted(set(ALLOWED) - {name.strip("_") for name, _ in names(sources)})


def find_doubled_classes(sources: Sequence[Source]) -> list[str]:
    places = defaultdict(list)
    for source in sources:
        inner = set(_nested_classes(source))
        for node in source.nodes(ast.ClassDef):
            is_known = node.name in DJANGO or (node.name in NESTED and node in inner)
            if not is_known:
                places[node.name].append(source.place(node))
    return [
        f"{name}  {' '.join(of_name)}"
        for name, of_name in sorted(places.items())
        if len(of_name) > 1
    ]


def _nested_classes(source: Source) -> Iterator[ast.ClassDef]:
    for outer in source.nodes(ast.ClassDef):
        yield from (node for node in outer.body if isinstance(node, ast.ClassDef))


# Modules and their imports


def build_graph(root: Path) -> grimp.ImportGraph:
    """Read the imports between modules, including imports inside functions and for types."""
    packages = [
        path.parent.name
        for path in sorted(root.glob("*/__init__.py"))
        if path.parent.name not in LEFT_OUT
    ]
    sys.path.insert(0, str(root))
    graph = grimp.build_graph(*packages, cache_dir=None)
    for module in graph.modules:
        if LEFT_OUT & set(module.split(".")):
            graph.remove_module(module)
    return graph


def graph_inside(graph: grimp.ImportGraph, room: str) -> grimp.ImportGraph:
    """Read the imports between the children of a room; the room `""` is the whole house.

    A child stands for all modules inside the child. The room's own `__init__` is no child.
    """
    start, inner = f"{room}." if room else "", grimp.ImportGraph()

    def child_of(module: str) -> str:
        inside = module.startswith(start)
        return module.removeprefix(start).split(".")[0] if inside else ""

    for module in graph.modules:
        if child := child_of(module):
            inner.add_module(child)
            for imported in graph.find_modules_directly_imported_by(module):
                if child_of(imported) not in ("", child):
                    inner.add_import(importer=child, imported=child_of(imported))
    return inner


def find_knots(graph: grimp.ImportGraph) -> dict[frozenset[str], frozenset[str]]:
    """Group the modules that import each other in a circle, directly or indirectly.

    Return each group together with all other modules that the group imports, directly or
    indirectly.
    """
    below = {name: graph.find_upstream_modules(name) for name in graph.modules}
    knots = {
        frozenset({name, *(other for other in reached if name in below[other])})
        for name, reached in below.items()
    }
    return {knot: frozenset().union(*(below[n] for n in knot)) - knot for knot in knots}


def find_circles(graph: grimp.ImportGraph) -> list[list[str]]:
    return sorted(sorted(knot) for knot in find_knots(graph) if len(knot) > 1)


def count_floors(graph: grimp.ImportGraph) -> int:
    """Count the floors; a knot stands above all other modules that it imports."""
    floors: dict[str, int] = {}
    knots = find_knots(graph)
    for knot in sorted(knots, key=lambda knot: len(knots[knot] | knot)):
        floor = 1 + max((floors[name] for name in knots[knot]), default=0)
        floors |= dict.fromkeys(knot, floor)
    return max(floors.values(), default=0)


def find_arrows_up(root: Path, graph: grimp.ImportGraph) -> list[str]:
    """List the imports against a contract, including imports that the contract ignores.

    Rooms on one floor may not import each other, unless `:` stands between their names.
    """
    tools = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    contracts = [c for c in tools["importlinter"]["contracts"] if c["type"] == "layers"]
    return sorted({arrow for c in contracts for arrow in _arrows_against(c, graph)})


def _arrows_against(
    contract: Mapping[str, Any], graph: grimp.ImportGraph
) -> Iterator[str]:
    layers = [
        grimp.Layer(*re.findall(r"[\w.]+", layer), independent=":" not in layer)
        for layer in contract["layers"]
    ]
    containers = {
        module
        for expression in contract.get("containers", [])
        for module in graph.find_matching_modules(expression)
    }
    for dependency in graph.find_illegal_dependencies_for_layers(layers, containers):
        for route in dependency.routes:
            for head, tail in product(route.heads, route.tails):
                yield " -> ".join([head, *route.middle, tail])


def describe_rooms(graph: grimp.ImportGraph) -> tuple[list[str], list[str]]:
    """Return a line for each room, and the circles between the children of each room."""
    lines, circles = [], []
    for room in ["", *sorted(graph.modules)]:
        inner = graph_inside(graph, room)
        if len(inner.modules) > 1:
            size, arrows = len(inner.modules), inner.count_imports()
            floors = count_floors(inner)
            name = room or "(all)"
            lines.append(f"{name:<40}{size:>6}{floors:>8}{arrows:>8}")
            circles += [f"{name}: {', '.join(knot)}" for knot in find_circles(inner)]
    return lines, circles


# The whole


def describe(root: Path) -> tuple[list[str], bool]:
    """Return the lines to print, and whether the house has no fault."""
    sources, graph = read_sources(root), build_graph(root)
    rooms, circles_of_rooms = describe_rooms(graph)
    faults = {
        "circles of modules": [", ".join(knot) for knot in find_circles(graph)],
        "circles of rooms": circles_of_rooms,
        "arrows up": find_arrows_up(root, graph),
        "class names used twice": find_doubled_classes(sources),
        "bare participles and gerunds": find_participles(sources),
    }
    lines = [
        describe_lengths("functions", function_lengths(sources)),
        describe_lengths("files", file_lengths(sources)),
        f"Any in signatures: {count_any(sources):,}",
        f"type: ignore: {count_ignores(sources):,}",
        "",
        *(f"{app:<40}{n:>6,} lines" for app, n in lines_by_app(sources).items()),
        "",
        f"{'room':<40}{'rooms':>6}{'floors':>8}{'arrows':>8}",
        *rooms,
    ]
    for title, places in faults.items():
        lines += ["", f"{title}: {len(places)}", *(f"  {place}" for place in places)]
    unused = find_unused_reasons(sources)
    lines += ["", f"allowed and not used: {', '.join(unused) or 'none'}"]
    return lines, not any(faults.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=Path, default=here, help="another checkout")
    lines, is_sound = describe(parser.parse_args().root.resolve())
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
