"""The options that every benchmark has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BenchmarkOptions:
    """The data of a benchmark, and whether the benchmark keeps its project.

    `extra` is a dict of the name and value of each argument that only this benchmark
    has.
    """

    data: Path
    keep: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
