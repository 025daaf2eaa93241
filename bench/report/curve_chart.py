"""Draw the learning curve as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 640, 360  # pixels
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 40, 48
STEP = 0.1  # difference in accuracy between two lines of the grid
# These colours are legible on white and on black.
INK, PALE, BASE, CURVE = "#555", "#9995", "#888", "#0a7d8c"


def draw_curve(curve: Sequence[Mapping[str, Any]]) -> str:
    """Draw the accuracy after each number of tasks.

    A dashed line shows the accuracy without a playbook.
    """
    last = max(point["tasks"] for point in curve) or 1
    top = math.ceil(max(p["accuracy"] for p in curve) / STEP + 0.5) * STEP
    dots = [(_x(p["tasks"], last), _y(p["accuracy"], top)) for p in curve]
    parts = [*_grid(top), *_base(curve[0]["accuracy"], top)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    parts.append(
        f'<polyline points="{path}" fill="none" stroke="{CURVE}" stroke-width="2.5"/>'
    )
    for (x, y), point in zip(dots, curve, strict=True):
        parts += _dot(x, y, point)
    parts.append(_text(WIDTH / 2, HEIGHT - 8, "tasks learned", "middle"))
    parts.append(_text(LEFT, 20, "accuracy on unseen questions", "start"))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="Accuracy over tasks learned" '
        f'font-family="sans-serif" font-size="13">\n{body}\n</svg>\n'
    )


def _x(tasks: int, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * tasks / last


def _y(accuracy: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * accuracy / top


def _grid(top: float) -> list[str]:
    lines = []
    for step in range(round(top / STEP) + 1):
        y = _y(step * STEP, top)
        lines.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" '
            f'stroke="{PALE}"/>'
        )
        lines.append(_text(LEFT - 8, y + 4, f"{step * STEP:.0%}", "end"))
    return lines


def _base(accuracy: float, top: float) -> list[str]:
    y = _y(accuracy, top)
    return [
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" '
        f'stroke="{BASE}" stroke-width="1.5" stroke-dasharray="6 4"/>',
        _text(WIDTH - RIGHT, y + 18, f"no playbook: {accuracy:.1%}", "end"),
    ]


def _dot(x: float, y: float, point: Mapping[str, Any]) -> list[str]:
    title = (
        f"{point['accuracy']:.1%} after {point['tasks']}: {point['entries']} entries"
    )
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{CURVE}">'
    parts = [f"{dot}<title>{title}</title></circle>"]
    if point["tasks"]:
        parts.append(_text(x, y - 10, f"{point['accuracy']:.1%}", "middle"))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, str(point["tasks"]), "middle"))
    return parts


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{INK}">{words}</text>'
    )
