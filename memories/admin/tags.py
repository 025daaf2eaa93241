from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.contrib import admin
from django.http import HttpRequest

from audit.admin import AuditedAdmin
from common.admin import panels
from common.admin.action_forms import ActionForm
from common.admin.filters import ProjectFilter, exact_filter
from common.admin.model_admin import AdminAction, caller_of
from common.admin.panels import column, short_text
from common.caller import Role
from common.text import comma_list
from memories.models import Tag
from memories.store import tags
from projects.models import Project


class TagForm(ActionForm):
    class Meta:
        model = Tag
        fields = ["project", "name", "description", "category"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "project" in self.fields:
            rows = Project.objects.visible_to(self.caller)
            able = [row.pk for row in rows if self.caller.may(Role.WRITER, row.pk)]
            self.fields["project"].queryset = rows.filter(pk__in=able)  # type: ignore[attr-defined]  # a model choice

    def apply(self) -> Tag:
        data = dict(self.cleaned_data)
        if self.instance._state.adding:
            return tags.create(data.pop("project"), self.caller, **data)
        changes = {name: data[name] for name in self.changed_data}
        # Read the row again, because the form's instance already has the new name.
        tag = Tag.objects.visible_to(self.caller).get(pk=self.instance.pk)
        return tags.update(tag, self.caller, changes)


@admin.register(Tag)
class TagAdmin(AuditedAdmin):
    form = TagForm
    add_role = Role.WRITER
    change_role = Role.CURATOR
    list_display = ["name_display", "category", "memories", "about", "project_name"]
    list_filter = [ProjectFilter, exact_filter("category")]
    search_fields = ["name__icontains"]
    search_help_text = "A part of the name"
    fields = ["name", "description", "category"]
    readonly_fields = ["memories"]
    row_actions = [
        AdminAction(
            "merge",
            "Merge into…",
            Role.CURATOR,
            lambda tag, caller, text: tags.merge(
                tag, tags.find_tag(tag.project_id, text, caller), caller
            ),
            "merged",
            text_label="Name of the tag that stays",
        ),
        AdminAction(
            "delete",
            "Delete",
            Role.CURATOR,
            lambda tag, caller, text: tags.delete(tag, caller),
            "deleted",
            is_final=True,
        ),
    ]

    name_display = column("name", short_text, title="tag", ordering="name")
    about = column("description", lambda text: short_text(text, 80), title="about")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).with_usage_count(caller_of(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = list(self.fields or [])
        return [*fields, "memories"] if obj else ["project", *fields]

    @admin.display(description="memories")
    def memories(self, tag: Any) -> Any:
        name = quote(comma_list.join([tag.name]), safe="")
        where = f"project={tag.project_id}&tag={name}&state=current"
        return panels.list_link("memories_memory", where, f"{tag.usage_count:,}")
