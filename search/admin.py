from __future__ import annotations

from typing import Any

from django.contrib import admin

from common.admin import panels
from common.admin.filters import ProjectFilter, choice_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, short_text
from common.caller import Caller
from projects.models import Project
from search.models import Corpus, LexemeStat

NAMES = [("memories", "memories"), ("playbook", "playbook")]


@admin.register(Corpus)
class CorpusAdmin(RowsAdmin):
    list_display = ["name", "project_name", "documents", "counted_at_display"]
    list_filter = [ProjectFilter, choice_filter("name", NAMES)]
    fields = ["name", "project_name", "documents", "newest_id", "counted_at_display"]

    counted_at_display = staticmethod(
        panels.column("counted_at", format_time, title="counted", ordering="counted_at")
    )

    def visible_to(self, caller: Caller) -> Any:
        projects = Project.objects.visible_to(caller)
        return Corpus.objects.filter(project_id__in=projects)


@admin.register(LexemeStat)
class LexemeStatAdmin(RowsAdmin):
    project_path = "corpus__project_id"
    list_display = ["lexeme_display", "df", "corpus_name", "project_name"]
    list_select_related = ["corpus"]
    list_filter = [
        ProjectFilter,
        choice_filter("corpus__name", NAMES, "corpus", name="corpus"),
    ]
    search_fields = ["lexeme"]
    search_help_text = (
        "A stemmed lexeme; with ↑ or ⇈ before it, only its best rows are counted"
    )
    fields = ["lexeme_display", "df", "corpus_name", "project_name"]

    lexeme_display = staticmethod(
        panels.column("lexeme", short_text, ordering="lexeme")
    )

    def visible_to(self, caller: Caller) -> Any:
        projects = Project.objects.visible_to(caller)
        return LexemeStat.objects.filter(corpus__project_id__in=projects)

    @admin.display(description="corpus")
    def corpus_name(self, stat: LexemeStat) -> str:
        return stat.corpus.name
