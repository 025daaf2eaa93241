"""What an invocation is given, for callers that run their own loop."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.prompt.invocation_context import InvocationContext, for_invocation
from agents.serializers import context as forms
from agents.views.base import AgentView
from common.api.serializers import represent
from common.caller import Role
from conversations.invocations.record import look_up_conversation


class InvocationContextView(AgentView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # it only reads

    @extend_schema(
        operation_id="context_invocation",
        summary="Recall memory for a question, as a prompt",
        description="The prompt that the agent's own loop begins with: notes, the digest of "
        "facts, past tasks, other memories and rules, and the conversation, each within its "
        "share of the budget, as parts, as one text and as messages. For people who run their own loop.",
        request=forms.InvocationContextRequest,
        responses=forms.InvocationContextOut,
        examples=[
            OpenApiExample(
                "A question in a conversation",
                request_only=True,
                value={
                    "collection": "docs",
                    "question": "Why does the export fail?",
                    "user": "42",
                    "conversation_id": "support-7",
                },
            )
        ],
    )
    def post(self, request: Request) -> Response:
        data = self.body(forms.InvocationContextRequest)
        project = self.project(data, Role.VIEWER)
        user, named = data.get("user", ""), data.get("conversation_id", "")
        # Before its first turn, a conversation has nothing to recall.
        session = (
            look_up_conversation(project, named, user, self.caller) if named else None
        )
        context = for_invocation(
            project,
            self.caller,
            question=data["question"],
            state=data.get("state", ""),
            user=user,
            session=session,
            token_budget=data.get("token_budget"),
        )
        return Response(represent(forms.InvocationContextOut, _answer(context)))


def _answer(context: InvocationContext) -> dict[str, Any]:
    prompt = context.prompt
    return {
        "parts": [
            {
                "name": part.name,
                "text": part.text,
                "tokens": part.tokens,
                "items": context.items_of(part),
                "cut": part.cut,
            }
            for part in prompt.parts
        ],
        "system": prompt.system,
        "text": prompt.text,
        "messages": prompt.messages,
        "tokens": prompt.tokens,
        "cut": prompt.cut,
        "memory": context.given.to_dict(),
        "error": None,
    }
