from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Renderer:
    """A function that renders rows, and a strict reader of its format.

    `parse(render(rows))` must equal `expect(rows)`. `modules` are the modules whose
    texts this checks.
    """

    name: str
    modules: tuple[str, ...]
    rows: SearchStrategy[Any]
    render: Callable[[Any], str]
    parse: Callable[[str], Any]
    expect: Callable[[Any], Any]
    spaces: str = "\t\n"  # the white space that the format may have beside blanks
