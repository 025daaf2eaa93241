from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BenchmarkOptions:
    """What every benchmark is given: its data, and whether its project stays.

    `given` are the arguments that only one benchmark has, by name.
    """

    data: Path
    keep: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)
