"""A figure that is drawn: Chart.js draws it, and a table says its numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

AXIS_COLOUR = "#808895"  # of the axes: legible on the theme's light and dark grounds


@dataclass(frozen=True)
class Point:
    """A number; `text` is how the table says it, `url` the rows that it counts."""

    value: float | None
    text: str = ""
    url: str = ""

    @property
    def shown(self) -> str:
        if self.text or self.value is None:
            return self.text or "none"
        return f"{self.value:,.0f}"


@dataclass(frozen=True)
class Series:
    name: str
    colour: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Chart:
    """`labels` are along the axis, with a point of each series above each."""

    title: str
    along: str
    labels: Sequence[str]
    series: Sequence[Series]
    note: str = ""
    note_url: str = ""
    empty: str = "Nothing to draw yet."
    kind: str = "bar"
    unit: str = ""
    most: float | None = None  # where the axis ends; None is where the numbers do

    @property
    def is_empty(self) -> bool:
        return not any(point.value for one in self.series for point in one.points)

    @property
    def rows(self) -> list[tuple[str, list[Point]]]:
        return [
            (label, [one.points[at] for one in self.series])
            for at, label in enumerate(self.labels)
        ]

    @property
    def data(self) -> str:
        return json.dumps(
            {
                "labels": list(self.labels),
                "datasets": [_dataset(one, self.kind) for one in self.series],
            }
        )

    @property
    def options(self) -> str:
        """Instead of the theme's, which stack nothing and name no series."""
        stacked = self.kind == "bar"
        ticks = {"color": AXIS_COLOUR}
        title = {"display": bool(self.unit), "text": self.unit, "color": AXIS_COLOUR}
        upwards = {"beginAtZero": True, "stacked": stacked, "title": title}
        return json.dumps(
            {
                "animation": False,
                "responsive": True,
                "maintainAspectRatio": False,
                "interaction": {"mode": "index", "intersect": False},
                "plugins": {
                    "legend": {
                        "position": "bottom",
                        "labels": {
                            "color": AXIS_COLOUR,
                            "boxWidth": 10,
                            "boxHeight": 10,
                        },
                    }
                },
                "scales": {
                    "x": {
                        "stacked": stacked,
                        "grid": {"display": False},
                        "ticks": {**ticks, "maxRotation": 0},
                    },
                    "y": {
                        **upwards,
                        "max": self.most,
                        "grid": {"color": AXIS_COLOUR},
                        "ticks": {**ticks, "precision": 0, "maxTicksLimit": 6},
                    },
                },
            }
        )


def _dataset(one: Series, kind: str) -> dict[str, Any]:
    return {
        "label": one.name,
        "data": [point.value for point in one.points],
        "backgroundColor": one.colour,
        "borderColor": one.colour,
        "maxBarThickness": 28,
        "borderWidth": 2 if kind == "line" else 0,
        "pointRadius": 3,
        "spanGaps": True,
    }


def percentage(part: int, of: int) -> float | None:
    """In per cent; None where there is nothing to divide."""
    return round(100 * part / of, 1) if of else None


def describe_share(part: int, of: int) -> str:
    found = percentage(part, of)
    return f"{found:.0f} % ({part:,} of {of:,})" if found is not None else "none"
