"""Format a table as text."""

from __future__ import annotations

from collections.abc import Iterable


def align_columns(rows: Iterable[list[str]]) -> str:
    """Format rows of cells. Align the first column left, and all others right."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
