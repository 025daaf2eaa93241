"""Milliseconds as a plain SVG picture: a bar for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP = 640, 190, 70, 44  # pixels
ROW, THICK = 30, 16
# Dark enough on white and light enough on black.
INK, PALE, DARK, LIMIT = "#555", "#0a7d8c66", "#0a7d8c", "#c2410c"


@dataclass(frozen=True)
class ChartBar:
    """`inner` is drawn dark, up to `outer` pale; `limit` is a line across it."""

    label: str
    inner: float
    outer: float
    limit: float | None = None


def draw_bars(title: str, told: str, bars: Sequence[ChartBar]) -> str:
    """`told` says what the two parts of a bar are."""
    most = max(max(bar.outer, bar.limit or 0) for bar in bars) or 1.0
    height = TOP + ROW * len(bars) + 8
    parts = [_text(8, 18, title, weight="bold"), _text(8, 35, told)]
    for place, bar in enumerate(bars):
        parts += _row(TOP + ROW * place, bar, (WIDTH - LEFT - RIGHT) / most)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" '
        f'font-size="13">\n{body}\n</svg>\n'
    )


def _row(y: int, bar: ChartBar, scale: float) -> list[str]:
    parts = [
        _text(LEFT - 8, y + THICK - 3, bar.label, anchor="end"),
        _rect(y, bar.outer * scale, PALE),
        _rect(y, bar.inner * scale, DARK),
    ]
    end = max(bar.outer, bar.limit or 0) * scale
    told = f"{bar.inner:.0f}, {bar.outer:.0f}"
    if bar.limit:
        x = LEFT + bar.limit * scale
        parts.append(
            f'<line x1="{x:.1f}" y1="{y - 3}" x2="{x:.1f}" y2="{y + THICK + 3}" '
            f'stroke="{LIMIT}" stroke-width="2"><title>{bar.limit:g}</title></line>'
        )
    parts.append(_text(LEFT + end + 8, y + THICK - 3, told))
    return parts


def _rect(y: int, width: float, colour: str) -> str:
    return (
        f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{THICK}" '
        f'fill="{colour}"/>'
    )


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{INK}">{escape(words)}</text>'
    )
