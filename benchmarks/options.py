"""The options of every benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BenchmarkOptions:
    """The data of a benchmark, and whether its project is kept.

    `extra` holds the arguments that only this benchmark has, by name.
    """

    data: Path
    keep: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
