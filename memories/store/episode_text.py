"""The content of an episode, which its four parts make."""

from __future__ import annotations

from collections.abc import Sequence


def compose(
    goal: str, steps: Sequence[str] = (), outcome: str = "", lessons: str = ""
) -> str:
    """Return the parts that are not blank as one text, each after its name."""
    parts = {
        "Goal": goal,
        "Steps": "\n".join(steps),
        "Outcome": outcome,
        "Lessons": lessons,
    }
    return "\n".join(f"{name}: {text}" for name, text in parts.items() if text.strip())
