from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from common.admin import panels
from console.insights import effect, outcomes
from console.insights.outcomes import CountedEffect
from console.project_page import ProjectPage
from playbook.reading import withholding


class InsightsPage(ProjectPage):
    """What the rules change, counted in sessions that went without one of them."""

    title = "Insights"
    template = "console/insights/insights.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        found = outcomes.count(self.project, self.caller)
        table = panels.table(
            "Do the rules help?",
            ["Rules", "Counted a session", "With", "Without", "Difference (95 %)"],
            map(_cells, found),
            empty="No session with a finished task was given a rule in the last 90 days.",
        )
        return self.show(
            panels=[table],
            withholds=self.project.options.withhold,
            one_in=withholding.ONE_IN,
            least=withholding.MIN_SESSIONS,
        )


def _cells(found: CountedEffect) -> list[Any]:
    measured = found.effect
    return [
        panels.short_text(found.kind, panels.SHORT_LIMIT),
        found.measure,
        f"{measured.given:,.2f} in {measured.sessions_given:,} sessions",
        f"{measured.withheld:,.2f} in {measured.sessions_withheld:,} sessions",
        _interval(measured),
    ]


def _interval(measured: effect.Effect) -> str:
    if measured.low is None or measured.high is None:
        return f"known from {effect.MIN_SESSIONS} sessions of each on"
    ends = f"{measured.low:+,.2f} to {measured.high:+,.2f}"
    return ends if measured.is_found else f"{ends}, which may be none"
