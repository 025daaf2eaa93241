"""List whose memories there are, and delete all memories of one."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from common import errors
from mcp_server.mem0 import entities, entity_list, remove
from mcp_server.mem0 import serializers as forms
from mcp_server.mem0.views.view import Mem0View


class EntitiesView(Mem0View):
    def get(self, request: Request, **kwargs: Any) -> Response:
        page = self.query(forms.EntityPage)
        first = (page["page"] - 1) * page["page_size"]
        count, found = entity_list.list_entities(
            self.door_project, self.caller, first, page["page_size"]
        )
        return self.numbered_page(page, count, found)


class EntityView(Mem0View):
    def delete(
        self, request: Request, kind: str, entity_id: str, **kwargs: Any
    ) -> Response:
        project = self.door_project
        name = f"{kind}_id"
        if name not in entities.NAMES:
            raise errors.NotFound("An entity is a user, an agent, an app or a run.")
        if not entity_list.has_ever_been(name, entity_id, project, self.caller):
            raise errors.NotFound(f"No {kind} {entity_id[:64]!r} ever had a memory.")
        deleted = remove.delete_entity(project, name, entity_id, self.caller)
        if deleted == remove.MAX_AT_ONCE:
            self.notes.add(remove.MORE)
        answer = {"message": "Entity deleted successfully!", "deleted": deleted}
        return Response(answer)
