from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify

from common.admin import panels
from common.admin.panels import PANEL_LIMIT, Panel, row_link, short_text
from console import weeks
from console.project_page import ProjectPage
from console.weekly import week_markdown, week_summary
from console.weekly.week_summary import WeekLesson, WeekSummary
from console.weeks import Week

ENTRY = "playbook_playbookentry"
TITLES = {
    week_summary.NEW: ("New rules", "No rule became live."),
    week_summary.CHANGED: ("Changed rules", "No rule was changed."),
    week_summary.REFUTED: ("Refuted and removed", "No rule was removed."),
}


class WeeklyPage(ProjectPage):
    """What the agents learned in the week that `?week=2026-W47` names."""

    title = "Weekly"
    template = "console/weekly/weekly.html"
    style = "console/weekly.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        this = weeks.last_weeks(1)[0]
        try:
            week = weeks.parse_label(request.GET.get("week") or str(this))
        except weeks.InvalidWeek:
            return self.show(problem=True, this=this, status=400)
        summary = week_summary.summarise(self.project, week, self.caller)
        if request.GET.get("format") == "markdown":
            return self.download(summary)
        return self.show(
            this=this,
            week=week,
            summary=summary,
            panels=list(build_panels(summary)),
            links={
                "previous": self.url(week.later(-1)),
                "next": self.url(week.later(1)) if week < this else "",
                "markdown": self.url(week, format="markdown"),
            },
        )

    def url(self, week: Week, **more: str) -> str:
        return "?" + urlencode({"project": self.project.pk, "week": week, **more})

    def download(self, summary: WeekSummary) -> HttpResponse:
        text = week_markdown.render_markdown(
            summary, self.project.name, self.request.build_absolute_uri
        )
        name = f"{slugify(self.project.name) or 'project'}-{summary.week}.md"
        return HttpResponse(
            text,
            content_type="text/markdown; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def build_panels(summary: WeekSummary) -> Iterable[Panel]:
    for kind, (title, empty) in TITLES.items():
        lessons = summary.lessons[kind]
        yield panels.table(
            f"{title} ({len(lessons)})" if lessons else title,
            ["Entry", "Rule", "Actions", "Evidence", "Decided by", "Why"],
            map(_lesson_cells, lessons),
            empty=empty,
            most=week_summary.MAX_CHANGES,
        )
    yield panels.table(
        "Contested",
        ["Entry", "Rule", "Harmful votes", "Evidence"],
        (
            [*_entry_cells(lesson), f"{lesson.harmful:,}", lesson.evidence]
            for lesson in summary.contested
        ),
        empty="No task reported that an entry did harm.",
    )


def _lesson_cells(lesson: WeekLesson) -> list[Any]:
    return [
        *_entry_cells(lesson),
        lesson.actions,
        lesson.evidence,
        short_text(lesson.decided_by, panels.SHORT_LIMIT),
        short_text(lesson.why, 200),
    ]


def _entry_cells(lesson: WeekLesson) -> list[Any]:
    return [
        row_link(ENTRY, lesson.entry_id, lesson.label, panels.SHORT_LIMIT),
        short_text(lesson.text, PANEL_LIMIT),
    ]
