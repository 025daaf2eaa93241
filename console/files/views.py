from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common import errors
from common.admin import panels
from common.admin.panels import PANEL_LIMIT, Panel, short_text
from common.text import comma_list
from common.text.paths import clean_path
from console import list_urls
from console.files import directory_tree
from console.project_page import ProjectPage
from context import file_graph
from context.file_graph import FileGraph
from memories.models import File

MAX_INDENT = 8  # levels by which the page indents a row
MEMORY, ENTRY = "memories_memory", "playbook_playbookentry"


class FilesPage(ProjectPage):
    """The directory that `?path=src/` names. Without a path, show the root."""

    title = "Files"
    template = "console/files/tree.html"
    style = "console/files.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        path = clean_path(request.GET.get("path", ""))
        path = path if not path or path.endswith("/") else f"{path}/"
        directory = directory_tree.list_directory(self.project, path, self.caller)
        is_missing = bool(path) and not directory.children
        return self.show(
            status=404 if is_missing else 200,
            directory=directory,
            most=directory_tree.MAX_CHILDREN,
            depth=min(len(directory.ancestors), MAX_INDENT),
            opens=directory_url(self.project),
            file=f"{reverse('console:file')}?project={self.project.pk}",
            list=list_urls.admin_list("memories_file", self.project),
        )


class FilePage(ProjectPage):
    """The memories, entries and files that are linked to the file of `?path=`."""

    title = "File"
    template = "console/files/file.html"
    style = "console/files.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        path = clean_path(request.GET.get("path", ""))
        try:
            graph = file_graph.build(self.project, path, self.caller)
        except errors.NotFound:
            return self.show_missing(path)
        is_linked = any((graph.memories, graph.entries, graph.related, graph.tags))
        return self.show(
            graph=graph,
            panels=list(self.tables(graph)) if is_linked else [],
            holder=directory_url(self.project, path.rpartition("/")[0]),
            record=reverse("admin:memories_file_change", args=[graph.file.pk]),
        )

    def show_missing(self, path: str) -> HttpResponse:
        """Show links to the files that the missing file was renamed to."""
        renamed = File.objects.visible_to(self.caller).filter(
            project=self.project, renamed_from__contains=[path]
        )
        return self.show(
            status=404,
            missing=path,
            renamed=[file_link(self.project, one.file_path) for one in renamed[:10]],
            holder=directory_url(self.project),
        )

    def tables(self, graph: FileGraph) -> Iterable[Panel]:
        yield _memories_panel(graph)
        yield panels.table(
            "Playbook",
            ["Entry", "Rule"],
            (
                [
                    panels.row_link(ENTRY, one.pk, one.label, panels.SHORT_LIMIT),
                    short_text(one.content, PANEL_LIMIT),
                ]
                for one in graph.entries
            ),
            empty="No entry of the playbook is linked to it.",
        )
        yield panels.table(
            "Related files",
            ["File", "Shared memories", "Strength"],
            (
                [
                    file_link(self.project, one.file_path),
                    one.shared_memories,
                    f"{one.strength:.0%}",
                ]
                for one in graph.related
            ),
            empty="No memory of it is linked to another file.",
        )
        yield panels.table(
            "Tags",
            ["Tag", "Memories"],
            ([self.tag(name), f"{count:,}"] for name, count in graph.tags.items()),
            empty="No memory of it has a tag.",
        )

    def tag(self, name: str) -> SafeString:
        url = list_urls.admin_list(MEMORY, self.project, tag=comma_list.join([name]))
        return format_html(
            '<a class="am-link" href="{}">{}</a>',
            url,
            short_text(name, panels.SHORT_LIMIT),
        )


def _memories_panel(graph: FileGraph) -> Panel:
    rows = [
        [
            panels.row_link(MEMORY, one.pk, one),
            relation,
            one.get_memory_type_display(),
            "changed since" if one.pk in graph.suspect else "as it was",
            panels.time_tag(one.created_at),
        ]
        for relation, memories in sorted(graph.memories.items())
        for one in memories
    ]
    panel = panels.table(
        f"Memories ({graph.memory_count:,})",
        ["Memory", "Relation", "Type", "File", "Created"],
        rows,
        empty="No current memory is linked to it.",
        most=file_graph.MAX_MEMORIES,
    )
    links = sum(graph.relations.values())
    note = "" if links <= len(rows) else f"The newest {len(rows)} of {links:,}."
    return Panel(panel.title, panel.head, panel.rows, panel.empty, note)


def directory_url(project: Any, path: str = "") -> str:
    query = {"project": project.pk} | ({"path": f"{path}/"} if path else {})
    return f"{reverse('console:files')}?{urlencode(query)}"


def file_link(project: Any, path: str) -> SafeString:
    return list_urls.link(list_urls.file_page(project, path), short_text(path))
