"""Proposals to change the playbook."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api import problem
from common.api.serializers import page_of
from common.caller import Role
from memories.models import Memory
from playbook.lessons import intake, person_edits, quotes
from playbook.lessons.draft import Draft
from playbook.lessons.lesson import Quote
from playbook.models import PlaybookEntry
from playbook.reading import delta_list, entry_list
from playbook.reading.delta_list import DeltaFilters
from playbook.review import bulk
from playbook.review.available import Permissions
from playbook.serializers import deltas as delta_forms
from playbook.serializers import entries as entry_forms
from projects.models import Project


class DeltasView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["content", "condition", "action", "tags", "evidence", "reason"]
    )

    @extend_schema(
        operation_id="proposals_list",
        parameters=[delta_forms.DeltaQuery],
        responses=page_of(delta_forms.DeltaOut),
    )
    def get(self, request: Request) -> Response:
        """List proposals in any status.

        The list is for reviewers and not for prompts.
        """
        data = self.query(delta_forms.DeltaQuery)
        project = self.project(data)
        filters = DeltaFilters(
            status=tuple(data.get("status", ())),
            operation=tuple(data.get("operation", ())),
            producer=data.get("producer", ""),
            risk=data.get("risk", ""),
            entry=data.get("entry"),
            run_id=data.get("run_id"),
        )
        rows = delta_list.find(project, filters, self.caller)
        own = {"permissions": Permissions(self.caller)}
        return self.page(rows, delta_forms.DeltaOut, context=own)

    @extend_schema(
        operation_id="proposals_create",
        request=delta_forms.CreateDelta,
        responses={201: delta_forms.DeltaOut},
    )
    def post(self, request: Request) -> Response:
        """Propose a change.

        The status and the gates of the returned delta say what happened and why. Quotes
        that do not stand in the memory are left out.
        """
        data = self.body(delta_forms.CreateDelta)
        project = self.project(data)
        if response := self.replay(project.pk):
            return response
        person_edits.refuse_unknown_category(project, data)
        drafts = [self.draft(project, data)]
        prepared = intake.prepare(project, drafts, self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            [delta] = intake.file(prepared)
            return 201, delta_forms.describe_delta(delta, self.caller)

        return self.run_once(project.pk, act)

    def draft(self, project: Project, data: dict[str, Any]) -> Draft:
        entry = None
        if "entry_id" in data:
            entry = self.entry(project, data["entry_id"])
        memory = self.memory(project, data.get("memory_id"))
        sources = person_edits.quotable_texts(memory) if memory else ()
        said = quotes.find(
            (Quote(**quote) for quote in data.get("evidence", ())), sources
        )
        delta = person_edits.person_change(
            data["operation"],
            entry_forms.settings_of(data),
            self.caller,
            reason=data["reason"],
            entry=entry,
            expected_version=data.get("expected_version"),
            targets=[self.target(project, t) for t in data.get("targets", ())],
            evidence=[asdict(quote) for quote in said],
            memory_id=memory.pk if memory else None,
            agent_id=self.caller.agent_id_for(data.get("agent_id", "")),
            producer=data["producer"],
            producer_name=(data["producer_name"] or self.caller.name)[:100],
        )
        return Draft(delta, around=tuple(quotes.surroundings(said, sources)))

    def target(self, project: Project, target: dict[str, Any]) -> dict[str, Any]:
        entry = self.entry(project, target["id"])
        return {"id": str(entry.pk), "version": target.get("version")}

    def entry(self, project: Project, entry_id: uuid.UUID) -> PlaybookEntry:
        entry = entry_list.get(entry_id, self.caller)
        if entry.project_id != project.pk:
            raise errors.NotFound(f"There is no entry {entry_id} in this project.")
        return entry

    def memory(self, project: Project, memory_id: uuid.UUID | None) -> Memory | None:
        if memory_id is None:
            return None
        rows = Memory.objects.visible_to(self.caller).readable().light()
        found: Memory | None = rows.filter(pk=memory_id, project=project).first()
        if found is None:
            raise errors.NotFound(f"There is no memory {memory_id} in this project.")
        return found


class DeltaView(ProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(operation_id="proposals_read", responses=delta_forms.DeltaOut)
    def get(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Return one proposal with its quotes and gates."""
        delta = delta_list.get(delta_id, self.caller)
        return Response(delta_forms.describe_delta(delta, self.caller))


class BulkDeltasView(ProjectView):
    @extend_schema(
        operation_id="proposals_bulk",
        request=delta_forms.BulkDeltas,
        responses=delta_forms.BulkOut,
    )
    def post(self, request: Request) -> Response:
        """Accept or reject up to a hundred deltas.

        Only deltas of low risk are accepted; any other is refused. The response has one
        result for each delta.
        """
        data = self.body(delta_forms.BulkDeltas)
        project = self.project(data, Role.CURATOR)
        if response := self.replay(project.pk):
            return response
        accepts = data["action"] == "accept"
        embedded_texts = (
            bulk.embed_texts(project, data["ids"], self.caller) if accepts else {}
        )

        def act() -> tuple[int, dict[str, Any]]:
            outcomes = bulk.decide_all(
                project,
                data["ids"],
                data["action"],
                self.caller,
                reason=data["reason"],
                embedded_texts=embedded_texts,
            )
            return 200, {"results": [bulk_item(outcome) for outcome in outcomes]}

        return self.run_once(project.pk, act)


def bulk_item(outcome: bulk.BulkOutcome) -> dict[str, Any]:
    refusal = outcome.refusal
    return {
        "id": str(outcome.delta_id),
        "status": outcome.status,
        "problem": problem.body_of(refusal) if refusal else None,
    }
