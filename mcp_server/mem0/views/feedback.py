"""Confirm a memory, as positive feedback of mem0."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from mcp_server.mem0 import find
from mcp_server.mem0 import serializers as forms
from mcp_server.mem0.views.view import Mem0View
from memories.lifecycle import verify


class MemoryFeedbackView(Mem0View):
    def post(self, request: Request, **kwargs: Any) -> Response:
        data = self.body(forms.MemoryFeedback)
        project = self.door_project
        memory = find.find_memory(project, data["memory_id"], self.caller)
        reason = data.get("feedback_reason", "")

        def act() -> tuple[int, dict[str, Any]]:
            verify.verify_memory(memory, self.caller, note=reason)
            shown = {"id": str(memory.pk), "feedback": data["feedback"]}
            return 200, {**shown, "feedback_reason": reason or None}

        return self.run_once(project.pk, act)
