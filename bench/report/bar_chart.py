"""Draw numbers as an SVG chart with one bar for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP = 640, 190, 90, 44  # pixels
ROW, BAR_HEIGHT = 30, 16
# These colours are legible on white and on black.
INK, PALE, DARK, LIMIT = "#555", "#0a7d8c66", "#0a7d8c", "#c2410c"


@dataclass(frozen=True)
class ChartBar:
    """One bar of the chart.

    The bar is dark up to `inner`, and pale from there to `outer`. `limit` is drawn as a
    line across the bar. `words` stand behind it, or else the two numbers.
    """

    label: str
    inner: float
    outer: float
    limit: float | None = None
    words: str = ""


def draw_bars(title: str, legend: str, bars: Sequence[ChartBar]) -> str:
    """Draw the bars. `legend` explains the dark part and the pale part of a bar."""
    most = max(max(bar.outer, bar.limit or 0) for bar in bars) or 1.0
    height = TOP + ROW * len(bars) + 8
    parts = [_text(8, 18, title, weight="bold"), _text(8, 35, legend)]
    for number, bar in enumerate(bars):
        parts += _row(TOP + ROW * number, bar, (WIDTH - LEFT - RIGHT) / most)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" '
        f'font-size="13">\n{body}\n</svg>\n'
    )


def _row(y: int, bar: ChartBar, scale: float) -> list[str]:
    parts = [
        _text(LEFT - 8, y + BAR_HEIGHT - 3, bar.label, anchor="end"),
        _rect(y, bar.outer * scale, PALE),
        _rect(y, bar.inner * scale, DARK),
    ]
    end = max(bar.outer, bar.limit or 0) * scale
    words = bar.words or f"{bar.inner:.0f}, {bar.outer:.0f}"
    if bar.limit:
        x = LEFT + bar.limit * scale
        parts.append(
            f'<line x1="{x:.1f}" y1="{y - 3}" x2="{x:.1f}" y2="{y + BAR_HEIGHT + 3}" '
            f'stroke="{LIMIT}" stroke-width="2"><title>{bar.limit:g}</title></line>'
        )
    parts.append(_text(LEFT + end + 8, y + BAR_HEIGHT - 3, words))
    return parts


def _rect(y: int, width: float, colour: str) -> str:
    return (
        f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR_HEIGHT}" '
        f'fill="{colour}"/>'
    )


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{INK}">{escape(words)}</text>'
    )
