"""Write the patterns of the product that cost more than linear time, as JSON.

`python -m tests.growth.sweep` is a process of its own, because it watches the compiler.
"""

from __future__ import annotations

import json
import os
import re
import sys

from tests.growth import adversaries, measure, patterns


def worst_growth(pattern: re.Pattern[str], way: str = "finditer") -> tuple[float, str]:
    """Return the growth of the cost of a pattern, and the text on which it is."""
    method = getattr(pattern, way)
    work = method if way in patterns.AT_START else lambda text: list(method(text))
    worst = (0.0, "")
    for adversary in adversaries.of_pattern(pattern):
        worst = max(worst, (measure.growth(work, adversary.text), str(adversary)))
        if worst[0] > measure.MOST:
            break
    return worst


def sweep() -> dict[str, object]:
    found = patterns.record()
    growing = []
    for pattern in found:
        growth, text = worst_growth(pattern.compiled, pattern.way)
        if growth > measure.MOST:
            shown = f"{pattern.where} {pattern.compiled.pattern[:60]!r}"
            growing.append(f"{shown} grows {growth:.0f}-fold on {text}")
    return {"count": len(found), "growing": growing}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")
    json.dump(sweep(), sys.stdout)
