"""Assemble a context, compact a session, and explore its summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import represent
from common.caller import Role
from conversations.agent_memory.preamble import choose_preamble, no_preamble
from conversations.assembly.assemble import assemble
from conversations.compaction import compaction_need
from conversations.compaction.compact import CompactionMode
from conversations.compaction.compaction_job import compact_in_job, compact_now
from conversations.messages import explore
from conversations.messages.review import build_review_text
from conversations.models import Summary
from conversations.serializers import contexts as forms
from conversations.serializers.sessions import SessionQuery
from conversations.stores import has_capability
from conversations.tokens import estimate_tokens
from conversations.views.base import SessionView

SUMMARY_HELP = {"summary_id": "The `sum_` id of the summary."}


class AssembleView(SessionView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # the view only reads

    @extend_schema(
        operation_id="sessions_assemble",
        summary="Build the context of a session within a budget of tokens",
        request=forms.AssembleRequest,
        responses=forms.ContextOut,
        examples=[
            OpenApiExample(
                "At most 8,000 tokens, as OpenAI's chat messages",
                value={"project_id": "docs", "token_budget": 8000, "format": "openai"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """Soul, profile and constraints in front, as they were at the session's snapshot; the
        newest messages whole; then summaries and older messages as far as they fit.
        """
        data = self.body(forms.AssembleRequest)
        project, session = self.session(data, key, Role.VIEWER)
        budget = compaction_need.budget_of(project, session, data.get("token_budget"))
        has_notes = has_capability(project, self.caller, "session_snapshot_store")
        found = assemble(
            session,
            budget,
            self.caller,
            fresh_tail=data["fresh_tail"],
            preamble=choose_preamble(session, budget, self.caller)
            if has_notes
            else no_preamble,
        )
        return Response(forms.write_context(found, data["format"]))


class CompactionNeedView(SessionView):
    capability = "compactor"

    @extend_schema(
        operation_id="sessions_compaction",
        summary="Ask whether a session needs a compaction",
        parameters=[forms.NeedQuery],
        responses=forms.NeedOut,
    )
    def get(self, request: Request, key: str) -> Response:
        """True if the context has more tokens than a share of the budget, and something can
        be compacted.
        """
        data = self.query(forms.NeedQuery)
        project, session = self.session(data, key)
        found = compaction_need.describe_need(
            project,
            session,
            threshold=data["threshold"],
            token_budget=data.get("token_budget"),
        )
        return Response(found._asdict())


class CompactView(SessionView):
    capability = "compactor"

    @extend_schema(
        operation_id="sessions_compact",
        summary="Replace old messages of the context by summaries",
        request=forms.CompactRequest,
        responses={200: forms.SessionCompactionOut, 202: forms.CompactionJobOut},
        parameters=[
            OpenApiParameter(
                "Prefer",
                str,
                OpenApiParameter.HEADER,
                description="`respond-async`: answer 202 with the id of a job.",
            )
        ],
        examples=[
            OpenApiExample(
                "Compact as far as possible",
                value={"project_id": "docs", "mode": "full"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """No message is lost: `expand` gives back the original words.

        The summarizer works before the transaction. A repeated request compacts what is
        left.
        """
        data = self.body(forms.CompactRequest)
        project, session = self.session(data, key)
        mode = CompactionMode(data["mode"])
        if "respond-async" in request.headers.get("Prefer", ""):
            job = compact_in_job(session, mode, self.caller)
            return Response({"job_id": job.pk}, 202)
        if answer := self.replay(project.pk):
            return answer
        result = compact_now(session, mode, self.caller)
        return self.run_once(project.pk, lambda: (200, asdict(result)))


class SummariesView(SessionView):
    capability = "explorer"

    @extend_schema(
        operation_id="sessions_summaries",
        summary="List the summaries of a session as a forest",
        parameters=[SessionQuery],
        responses=forms.SummariesOut,
    )
    def get(self, request: Request, key: str) -> Response:
        project, session = self.session(self.query(SessionQuery), key)
        rows = Summary.objects.visible_to(self.caller, project).light()
        ordered = rows.filter(session=session).order_by("first_seq", "-depth")
        results = [
            represent(forms.SummaryOut, row) for row in forms.summary_parents(ordered)
        ]
        return Response({"results": results})


class SummaryView(ProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()
    path_help: ClassVar[Mapping[str, str]] = SUMMARY_HELP

    @extend_schema(
        operation_id="summaries_read",
        summary="Describe a summary and its place in the tree",
        responses=forms.DescribeOut,
    )
    def get(self, request: Request, summary_id: str) -> Response:
        summary = explore.find_summary(summary_id, self.caller)
        return Response(represent(forms.DescribeOut, explore.describe(summary)))


class ExpandView(ProjectView):
    path_help: ClassVar[Mapping[str, str]] = SUMMARY_HELP

    @extend_schema(
        operation_id="summaries_expand",
        summary="Return what a summary was made of",
        parameters=[forms.ExpandQuery],
        responses=forms.ExpandOut,
    )
    def get(self, request: Request, summary_id: str) -> Response:
        """The original messages of a leaf, or the children of a condensed summary."""
        data = self.query(forms.ExpandQuery)
        summary = explore.find_summary(summary_id, self.caller)
        found = explore.expand(summary, data["token_cap"], data["after_seq"])
        return Response(forms.ExpandOut(found).data)


class ReviewView(SessionView):
    capability = "reviewer"

    @extend_schema(
        operation_id="sessions_review",
        summary="Read a session as text for a reviewer",
        parameters=[forms.ReviewQuery],
        responses=forms.ReviewOut,
    )
    def get(self, request: Request, key: str) -> Response:
        """All but tool messages as `[role] text`; an empty text if there is nothing."""
        data = self.query(forms.ReviewQuery)
        _, session = self.session(data, key)
        text = build_review_text(session, data.get("since"), data["token_budget"])
        answer: dict[str, Any] = {"text": text, "tokens": estimate_tokens(text)}
        return Response(answer)
