"""Doors of the playbook: entries, their changes, and the proposals to change them."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.doors import Door, page_of
from common import errors, problem
from common.caller import Role
from memories.models import Memory
from playbook import (
    curation,
    pages,
    proposals,
    reading,
    rendering,
    undoing,
)
from playbook import serializers as forms
from playbook.drafts import Proposal, Quote
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reading import ChangeFilters, DeltaFilters, Filters, Order
from projects.models import Project


class PlaybookDoor(Door):
    @extend_schema(
        operation_id="playbook_read",
        parameters=[forms.PlaybookQuery],
        responses=forms.PlaybookPage,
    )
    def get(self, request: Request) -> Response:
        """The playbook: filtered, searched or sorted, now or at a revision."""
        data = self.query(forms.PlaybookQuery)
        project = self.project(data)
        filters = Filters(
            category=tuple(data.get("category", ())),
            tags=tuple(data.get("tags", ())),
            tags_match=data["tags_match"],
            status=tuple(data["status"]),
        )
        order = Order(data.get("sort", "created_at"), data["order"] == "desc")
        if "revision" in data:
            return self.past(project, data["revision"], filters, order)
        rows = reading.entries(project, filters, self.caller)
        notes: tuple[str, ...] = ()
        if "q" in data:
            ranked = reading.rank(project, rows, data["q"])
            ids, notes = [hit.id for hit in ranked.hits], ranked.notes
        else:
            ids = reading.ordered(rows, order)
        page = pages.cut(ids, rows, self.request)
        shown = reading.in_full(rows.filter(pk__in=page.ids), self.caller).in_bulk()
        results = [shown[pk] for pk in page.ids if pk in shown]
        answer = forms.EntryOut(results, many=True).data
        revision = reading.current_revision(project, self.caller)
        return self.answer(answer, page, revision, notes)

    def past(
        self, project: Project, revision: int, filters: Filters, order: Order
    ) -> Response:
        past = reading.at_revision(project, revision, filters, order, self.caller)
        by_id = {entry.id: entry for entry in past}
        rows = reading.entries(project, filters, self.caller)
        page = pages.cut(list(by_id), rows, self.request)
        shown = [by_id[pk] for pk in page.ids]
        named = [uuid.UUID(pk) for entry in shown for pk in entry.supporting_memory_ids]
        seen = {str(pk) for pk in reading.seen_memories(named, self.caller)}
        results = [forms.past(entry, project.pk, seen) for entry in shown]
        return self.answer(results, page, revision, ())

    @staticmethod
    def answer(
        results: Any, page: pages.Page, revision: int, notes: tuple[str, ...]
    ) -> Response:
        return Response(
            {
                "results": results,
                "next": page.next,
                "previous": page.previous,
                "revision": revision,
                "notes": list(notes),
            }
        )


class RenderDoor(Door):
    @extend_schema(
        operation_id="playbook_render",
        parameters=[forms.RenderQuery],
        responses=forms.RenderOut,
    )
    def get(self, request: Request) -> Response:
        """The playbook as an agent is given it, inside a budget of tokens."""
        data = self.query(forms.RenderQuery)
        project = self.project(data)
        rendered = rendering.render(
            project, self.caller, task=data["task"], budget=data.get("token_budget")
        )
        return Response(forms.RenderOut(rendered).data)


class ChangesDoor(Door):
    @extend_schema(
        operation_id="playbook_changes",
        parameters=[forms.ChangesQuery],
        responses=page_of(forms.ChangeOut),
    )
    def get(self, request: Request) -> Response:
        """What happened to the playbook, newest first."""
        data = self.query(forms.ChangesQuery)
        project = self.project(data)
        names = ChangeFilters.__dataclass_fields__
        filters = ChangeFilters(**{n: data[n] for n in names if n in data})
        rows = reading.changes(project, filters, self.caller)
        return self.page(rows, forms.ChangeOut)


class EntriesDoor(Door):
    @extend_schema(
        operation_id="playbook_entries_create",
        request=forms.CreateEntry,
        responses={201: forms.Written, 202: forms.Written},
    )
    def post(self, request: Request) -> Response:
        """Write an entry: a curator's is applied (201), a writer's waits (202)."""
        data = self.body(forms.CreateEntry)
        project = self.project(data)
        changes = forms.settings_of(data)
        curation.refuse_unknown_category(project, changes)
        proposal = curation.addition(changes, self.caller, reason=data["reason"])
        return written(self, project, proposal, status=201)


def written(
    door: Door, project: Project, proposal: Proposal, *, status: int
) -> Response:
    """File a person's own change; 202 says that it waits for another person."""
    if answered := door.replayed(project.pk):
        return answered
    prepared = proposals.prepare(project, [proposal], door.caller)

    def act() -> tuple[int, dict[str, Any]]:
        delta = proposals.file(prepared)[0]
        waits = delta.status == PlaybookDelta.Status.PENDING
        return 202 if waits else status, after(door, delta)

    return door.once(project.pk, act)


def after(door: Door, delta: PlaybookDelta) -> dict[str, Any]:
    """A delta and, once it is in force, the entry as it is now."""
    entry = None
    if delta.entry_id and delta.status in PlaybookDelta.IN_FORCE:
        entry = forms.EntryDetail(entry_in_full(door, delta.entry_id)).data
    return {"delta": forms.DeltaOut(delta).data, "entry": entry}


def entry_in_full(door: Door, entry_id: uuid.UUID) -> PlaybookEntry:
    rows = PlaybookEntry.objects.visible_to(door.caller).filter(pk=entry_id)
    found = reading.in_full(rows, door.caller).first()
    if found is None:
        raise errors.NotFound(f"There is no entry {entry_id}.")
    return found


class EntryDoor(Door):
    @extend_schema(operation_id="playbook_entries_read", responses=forms.EntryDetail)
    def get(self, request: Request, entry_id: uuid.UUID) -> Response:
        """One entry in full, whatever its status."""
        return Response(forms.EntryDetail(entry_in_full(self, entry_id)).data)

    @extend_schema(
        operation_id="playbook_entries_update",
        request=forms.UpdateEntry,
        responses={200: forms.Written, 202: forms.Written},
    )
    def patch(self, request: Request, entry_id: uuid.UUID) -> Response:
        """Change an entry: at once by a curator, else as a delta that waits (202)."""
        entry = curation.entry(entry_id, self.caller, Role.WRITER)
        data = self.body(forms.UpdateEntry)
        changes = forms.settings_of(data)
        curation.refuse_unknown_category(entry.project, changes)
        proposal = curation.change(
            entry,
            changes,
            self.caller,
            reason=data["reason"],
            version=data.get("expected_version"),
        )
        return written(self, entry.project, proposal, status=200)

    @extend_schema(
        operation_id="playbook_entries_delete",
        parameters=[forms.DeleteEntryQuery],
        responses={200: forms.Written, 202: forms.Written},
    )
    def delete(self, request: Request, entry_id: uuid.UUID) -> Response:
        """Delete an entry: at once by a curator, else as a delta that waits (202)."""
        entry = curation.entry(entry_id, self.caller, Role.WRITER)
        data = self.query(forms.DeleteEntryQuery)
        proposal = curation.removal(
            entry,
            self.caller,
            reason=data["reason"],
            version=data.get("expected_version"),
        )
        return written(self, entry.project, proposal, status=200)


class EntryHistoryDoor(Door):
    @extend_schema(
        operation_id="playbook_entries_history", responses=page_of(forms.ChangeOut)
    )
    def get(self, request: Request, entry_id: uuid.UUID) -> Response:
        """What happened to an entry, newest first, with the changed text as a diff."""
        entry = curation.entry(entry_id, self.caller)
        return self.page(reading.history(entry, self.caller), forms.ChangeOut)


class DeltasDoor(Door):
    @extend_schema(
        operation_id="playbook_deltas_list",
        parameters=[forms.DeltaQuery],
        responses=page_of(forms.DeltaOut),
    )
    def get(self, request: Request) -> Response:
        """Proposed changes and what became of them; for reviewers, not for prompts."""
        data = self.query(forms.DeltaQuery)
        project = self.project(data)
        filters = DeltaFilters(
            status=tuple(data.get("status", ())),
            operation=tuple(data.get("operation", ())),
            producer=data.get("producer", ""),
            risk=data.get("risk", ""),
            entry=data.get("entry"),
            run_id=data.get("run_id"),
        )
        rows = reading.deltas(project, filters, self.caller)
        return self.page(rows, forms.DeltaOut)

    @extend_schema(
        operation_id="playbook_deltas_create",
        request=forms.CreateDelta,
        responses={201: forms.DeltaOut},
    )
    def post(self, request: Request) -> Response:
        """Propose a change; its status and gates say what became of it and why."""
        data = self.body(forms.CreateDelta)
        project = self.project(data)
        curation.refuse_unknown_category(project, data)
        proposal = self.proposal(project, data)
        if answered := self.replayed(project.pk):
            return answered
        prepared = proposals.prepare(project, [proposal], self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            return 201, forms.DeltaOut(proposals.file(prepared)[0]).data

        return self.once(project.pk, act)

    def proposal(self, project: Project, data: dict[str, Any]) -> Proposal:
        entry = None
        if "entry_id" in data:
            entry = self.entry(project, data["entry_id"])
        by_model = {
            "producer": data["producer"],
            "producer_name": data["producer_name"] or self.caller.name,
        }
        memory = self.memory(project, data.get("memory_id"))
        if memory:
            by_model |= {"memory_id": memory.pk, "sources": curation.sources(memory)}
        return curation.proposed(
            data["operation"],
            forms.settings_of(data),
            self.caller,
            reason=data["reason"],
            entry=entry,
            expected_version=data.get("expected_version"),
            targets=tuple(self.target(project, t) for t in data.get("targets", ())),
            agent_id=self.caller.acting_as(data.get("agent_id", "")),
            evidence=tuple(Quote(**quote) for quote in data.get("evidence", ())),
            **by_model,
        )

    def target(self, project: Project, given: dict[str, Any]) -> dict[str, Any]:
        entry = self.entry(project, given["id"])
        return {"id": str(entry.pk), "version": given.get("version")}

    def entry(self, project: Project, entry_id: uuid.UUID) -> PlaybookEntry:
        entry = curation.entry(entry_id, self.caller)
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


class DeltaDoor(Door):
    @extend_schema(operation_id="playbook_deltas_read", responses=forms.DeltaOut)
    def get(self, request: Request, delta_id: uuid.UUID) -> Response:
        """One proposal with its quotes and gates."""
        return Response(forms.DeltaOut(curation.get(delta_id, self.caller)).data)


class DecisionDoor(Door):
    """A person's decision about one delta."""

    form: type[Any] = forms.AcceptDelta

    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        delta = curation.get(delta_id, self.caller, Role.CURATOR)
        data = self.body(self.form)

        def act() -> tuple[int, dict[str, Any]]:
            return 200, after(self, self.decide(delta, data))

        return self.once(delta.project_id, act)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        raise NotImplementedError


class AcceptDoor(DecisionDoor):
    @extend_schema(
        operation_id="playbook_deltas_accept",
        request=forms.AcceptDelta,
        responses=forms.Written,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Apply a waiting delta; a key cannot accept what it proposed itself."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        version = data.get("expected_version")
        return curation.accept(delta, self.caller, version=version, note=data["note"])


class EditDoor(DecisionDoor):
    form = forms.EditDelta

    @extend_schema(
        operation_id="playbook_deltas_edit",
        request=forms.EditDelta,
        responses=forms.Written,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Apply a waiting delta in your own words."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return curation.edit_and_accept(
            delta,
            forms.settings_of(data),
            self.caller,
            version=data.get("expected_version"),
            note=data["note"],
        )


class RejectDoor(DecisionDoor):
    form = forms.RejectDelta

    @extend_schema(
        operation_id="playbook_deltas_reject",
        request=forms.RejectDelta,
        responses=forms.Written,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Decide against a waiting delta, with a reason."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        version = data.get("expected_version")
        return curation.reject(
            delta, self.caller, reason=data["reason"], version=version
        )


class UndoDoor(DecisionDoor):
    form = forms.Reasoned

    @extend_schema(
        operation_id="playbook_deltas_undo",
        request=forms.Reasoned,
        responses=forms.Written,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Take back what a delta did; refused when later changes stand on it."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return undoing.undo(delta, self.caller, reason=data["reason"])


class BulkDoor(Door):
    @extend_schema(
        operation_id="playbook_deltas_bulk",
        request=forms.BulkDeltas,
        responses=forms.BulkOut,
    )
    def post(self, request: Request) -> Response:
        """Accept or reject up to a hundred deltas; each has its own outcome."""
        data = self.body(forms.BulkDeltas)
        project = self.project(data, Role.CURATOR)

        def act() -> tuple[int, dict[str, Any]]:
            outcomes = curation.bulk(
                project,
                data["ids"],
                data["action"],
                self.caller,
                reason=data["reason"],
            )
            return 200, {"results": [bulk_item(outcome) for outcome in outcomes]}

        return self.once(project.pk, act)


def bulk_item(outcome: curation.Outcome) -> dict[str, Any]:
    refusal = outcome.refusal
    return {
        "id": str(outcome.delta_id),
        "status": outcome.status,
        "problem": problem.body_of(refusal) if refusal else None,
    }
