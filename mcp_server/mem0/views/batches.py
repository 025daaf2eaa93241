"""Change and delete several memories at once."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from common.api.views import EVERY_FIELD
from mcp_server.mem0 import find, remove
from mcp_server.mem0 import serializers as forms
from mcp_server.mem0.views.view import Mem0View
from memories.lifecycle import update


class Mem0BatchView(Mem0View):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD
    body_methods: ClassVar[frozenset[str]] = frozenset({"PUT", "DELETE"})

    def put(self, request: Request, **kwargs: Any) -> Response:
        """Change all memories or, if one does not exist or one change is refused, none."""
        project, items = self.door_project, self.body(forms.ChangeMemories)["memories"]
        ids = [item.pop("memory_id") for item in items]
        found = find.find_memories(project, ids, self.caller)
        pairs = zip(found, map(forms.columns_of, items), strict=True)
        changes = [
            update.prepare(memory, fields, self.caller, min_length=1)
            for memory, fields in pairs
        ]
        update.commit_all(changes, self.caller)
        return Response({"message": f"Successfully updated {len(found)} memories"})

    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Delete all memories or, if one of them does not exist, none."""
        project, items = self.door_project, self.body(forms.DeleteMemories)["memories"]
        ids = [item["memory_id"] for item in items]
        found = find.find_memories(project, ids, self.caller)
        remove.delete_memories(found, self.caller)
        return Response({"message": f"Successfully deleted {len(found)} memories"})
