from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from common.admin import panels
from common.admin.panels import Panel, short_text
from console import list_urls
from console.project_page import ProjectPage
from console.search.search_form import SearchForm
from memories.models import Memory
from memories.read.search import MemoryHit, SearchResult
from projects.models import Project

MAX_FILES = 5  # files that the page shows for each hit


class SearchPage(ProjectPage):
    """The search page.

    If the URL contains `?query=…`, the page searches. Otherwise, the parameters of the
    URL fill the form.
    """

    title = "Search"
    template = "console/search/search.html"
    style = "console/search.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        is_search = "query" in request.GET
        form = SearchForm(
            request.GET if is_search else None,
            initial=request.GET.dict(),
            project=self.project,
            caller=self.caller,
            auto_id="se-%s",
        )
        if not is_search or not form.is_valid():
            return self.show(form=form, status=400 if is_search else 200)
        answer: SearchResult = form.result
        return self.show(
            form=form,
            answer=answer,
            hits=[hit_row(hit, self.project) for hit in answer.hits],
            panels=list(explanation_panels(answer.explanation or {})),
        )


@dataclass(frozen=True)
class HitRow:
    """A hit as the page shows it."""

    memory: Memory
    url: str
    snippet: SafeString
    field: str  # from which the snippet is cut
    score: str
    lanes: list[str]
    files: list[tuple[str, str]]  # the path and URL of each file


def hit_row(hit: MemoryHit, project: Project) -> HitRow:
    links = list(hit.memory.file_links.all())[:MAX_FILES]
    paths = dict.fromkeys(link.file.file_path for link in links)
    return HitRow(
        hit.memory,
        reverse("admin:memories_memory_change", args=[hit.memory.pk]),
        # `search.snippets` has escaped the snippet.
        mark_safe(hit.snippet),
        hit.snippet_field,
        f"{hit.score:.3f}",
        [f"{name} #{one.rank} {one.score:.3f}" for name, one in hit.lanes.items()],
        [(path, list_urls.file_page(project, path)) for path in paths],
    )


def explanation_panels(explanation: dict[str, Any]) -> Iterable[Panel]:
    if not explanation:
        return
    yield Panel("How it was found", ["", ""], list(_explanation_rows(explanation)))
    terms = explanation["terms"]
    yield panels.table(
        "Words searched for",
        ["Word", "Memories with it", "Weight (idf)"],
        (
            [short_text(term["lexeme"], 60), term.get("df", ""), term.get("idf", "")]
            for term in terms
        ),
        empty="None: only the semantic lane searched.",
    )


def _explanation_rows(explanation: dict[str, Any]) -> Iterator[list[Any]]:
    yield ["Memories that pass the filters", f"{explanation['rows_after_filters']:,}"]
    for lane, count in explanation["candidates"].items():
        yield [f"Candidates: {lane}", f"{count:,}"]
    if lane := explanation["keyword_lane"]:
        yield ["Words of the query", ", ".join(lane["asked"])]
    if lane := explanation["semantic_lane"]:
        yield ["The semantic lane searched", f"{lane['how']}: {lane['why']}"]
    yield ["Fusion", explanation["fusion"]]
    for lane, weight in explanation["weights"].items():
        yield [f"Weight: {lane}", weight]
