from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """What every benchmark is given: its data, and whether its project stays."""

    data: Path
    keep: bool = False
