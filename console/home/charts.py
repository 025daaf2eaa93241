"""A chart that Chart.js draws, with a table of its numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

AXIS_COLOUR = "#808895"  # legible on the theme's light and dark backgrounds


@dataclass(frozen=True)
class Point:
    """One number of a chart.

    `text` is the form of the number in the table. `url` links to the rows that the
    number counts.
    """

    value: float | None
    text: str = ""
    url: str = ""

    @property
    def label(self) -> str:
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
    """A chart with one or more series, drawn as bars; shares, in percent, as lines.

    `labels` name the weeks. Each series has one point for each week.
    """

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    note: str = ""
    empty: str = "Nothing to draw yet."
    is_share: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing: only counts of 0, or no share. A share of 0 % says something."""
        values = [point.value for each in self.series for point in each.points]
        if self.is_share:
            return all(value is None for value in values)
        return not any(values)

    @property
    def kind(self) -> str:
        return "line" if self.is_share else "bar"

    @property
    def rows(self) -> list[tuple[str, list[Point]]]:
        return [
            (label, [series.points[at] for series in self.series])
            for at, label in enumerate(self.labels)
        ]

    @property
    def data(self) -> str:
        return json.dumps(
            {
                "labels": list(self.labels),
                "datasets": [_dataset(one, self.is_share) for one in self.series],
            }
        )

    @property
    def options(self) -> str:
        """Return the options of Chart.js.

        They are needed because the theme's own options do not stack the series and do
        not name them.
        """
        stacked = not self.is_share
        ticks = {"color": AXIS_COLOUR}
        title = {
            "display": self.is_share,
            "text": "% successful",
            "color": AXIS_COLOUR,
        }
        y_axis = {"beginAtZero": True, "stacked": stacked, "title": title}
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
                        **y_axis,
                        "max": 100 if self.is_share else None,
                        "grid": {"color": AXIS_COLOUR},
                        "ticks": {**ticks, "precision": 0, "maxTicksLimit": 6},
                    },
                },
            }
        )


def _dataset(series: Series, is_share: bool) -> dict[str, Any]:
    return {
        "label": series.name,
        "data": [point.value for point in series.points],
        "backgroundColor": series.colour,
        "borderColor": series.colour,
        "maxBarThickness": 28,
        "borderWidth": 2 if is_share else 0,
        "pointRadius": 3,
        "spanGaps": True,
    }


def percentage(part: int, of: int) -> float | None:
    """Return the percentage; None if `of` is 0."""
    return round(100 * part / of, 1) if of else None


def describe_share(part: int, of: int) -> str:
    share = percentage(part, of)
    return f"{share:.0f} % ({part:,} of {of:,})" if share is not None else "none"
