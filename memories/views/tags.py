"""Views of the tags of a project."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api.serializers import page_of
from common.caller import Role
from memories.models import (
    Tag,
)
from memories.serializers import tags as tag_forms
from memories.store import tags


class TagsView(ProjectView):
    @extend_schema(
        operation_id="tags_list",
        parameters=[tag_forms.TagQuery],
        responses=page_of(tag_forms.TagOut),
    )
    def get(self, request: Request) -> Response:
        """List the tags of a project, with the number of memories that use each tag."""
        data = self.query(tag_forms.TagQuery)
        project = self.project(data)
        rows = Tag.objects.visible_to(self.caller).filter(project=project)
        if "category" in data:
            rows = rows.filter(category=data["category"])
        if "q" in data:
            rows = rows.filter(name__icontains=data["q"])
        return self.page(rows.with_usage_count(self.caller), tag_forms.TagOut)

    @extend_schema(
        operation_id="tags_create",
        request=tag_forms.CreateTag,
        responses={201: tag_forms.TagOut},
    )
    def post(self, request: Request) -> Response:
        data = self.body(tag_forms.CreateTag)
        project = self.project(data)
        fields = {
            name: data[name]
            for name in ("name", "description", "category")
            if name in data
        }

        def act() -> tuple[int, dict[str, Any]]:
            return 201, tag_answer(tags.create(project, self.caller, **fields), self)

        return self.run_once(project.pk, act)


def tag_answer(tag: Tag, view: ProjectView) -> dict[str, Any]:
    rows = Tag.objects.visible_to(view.caller).with_usage_count(view.caller)
    data: dict[str, Any] = tag_forms.TagOut(rows.get(pk=tag.pk)).data
    return data


def find_tag(tag_id: uuid.UUID, view: ProjectView) -> Tag:
    tag = Tag.objects.visible_to(view.caller).filter(pk=tag_id).first()
    if tag is None:
        raise errors.NotFound
    view.caller.require(Role.CURATOR, tag.project_id)
    visible: Tag = tag
    return visible


class TagRowView(ProjectView):
    """Base of the views below /tags/{id}."""

    def row_project(self) -> uuid.UUID | None:
        rows = Tag.objects.visible_to(self.caller).filter(pk=self.kwargs["tag_id"])
        return rows.values_list("project_id", flat=True).first()


class TagView(TagRowView):
    @extend_schema(
        operation_id="tags_update",
        request=tag_forms.UpdateTag,
        responses=tag_forms.TagOut,
    )
    def patch(self, request: Request, tag_id: uuid.UUID) -> Response:
        """Describe a tag, or rename it in every memory."""
        tag = find_tag(tag_id, self)
        changed = tags.update(
            tag, self.caller, self.body(tag_forms.UpdateTag, row=tag_forms.TagOut)
        )
        return Response(tag_answer(changed, self))

    @extend_schema(operation_id="tags_delete", responses={204: None})
    def delete(self, request: Request, tag_id: uuid.UUID) -> Response:
        """Delete a tag and remove it from every memory."""
        tags.delete(find_tag(tag_id, self), self.caller)
        return Response(status=204)


class MergeTagView(TagRowView):
    @extend_schema(
        operation_id="tags_merge",
        request=tag_forms.MergeTag,
        responses=tag_forms.TagOut,
    )
    def post(self, request: Request, tag_id: uuid.UUID) -> Response:
        """Replace a tag with another one in every memory."""
        data = self.body(tag_forms.MergeTag)

        def act() -> tuple[int, dict[str, Any]]:
            tag = find_tag(tag_id, self)
            into = tags.find_tag(tag.project_id, data["into"], self.caller)
            return 200, tag_answer(tags.merge(tag, into, self.caller), self)

        # No project is given, because a repeated request can no longer read it from the
        # merged tag.
        return self.run_once(None, act)
