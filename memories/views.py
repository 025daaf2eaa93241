"""Doors of memories, their search, duplicates, files and tags."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.doors import Door, page_of
from common import errors, problem
from common.caller import Role
from jobs.models import Job
from memories import (
    classification,
    deduplication,
    duplicates,
    files,
    lifecycle,
    recall,
    scopes,
    tags,
    writing,
)
from memories import serializers as forms
from memories.drafts import Draft
from memories.models import (
    DuplicateFinding,
    File,
    Memory,
    MemoryChange,
    PossibleDuplicate,
    Tag,
)
from memories.writing import Receipt
from projects.models import Project

STATUS = {"stored": 201, "duplicate": 200, "superseded_key": 200, "waiting": 202}


class MemoriesDoor(Door):
    @extend_schema(
        operation_id="memories_create",
        request=forms.CreateMemory,
        responses={201: forms.ReceiptOut, 200: forms.ReceiptOut},
    )
    def post(self, request: Request) -> Response:
        """Store one memory; the receipt says what became of it."""
        data = self.body(forms.CreateMemory)
        project = self.project(data)
        if answered := self.replayed(project.pk):
            return answered
        draft = draft_of(data, project, self)
        prepared = writing.prepare(project, [draft], self.caller)
        return self.once(project.pk, lambda: receipt(writing.commit(prepared)[0]))

    @extend_schema(
        operation_id="memories_retrieve_list",
        parameters=[forms.RetrieveQuery],
        responses=page_of(forms.MemoryOut),
    )
    def get(self, request: Request) -> Response:
        """Read a scope without a query, newest or oldest first."""
        data = self.query(forms.RetrieveQuery)
        project = self.project(data)
        rows = recall.retrieve(project, retrieval_of(data, project, self), self.caller)
        return self.page(rows, forms.MemoryOut, oldest_first=data["order"] == "oldest")


class MemoryBatchDoor(Door):
    @extend_schema(
        operation_id="memories_create_batch",
        request=forms.CreateMemories,
        responses=forms.BatchOut,
    )
    def post(self, request: Request) -> Response:
        """Store up to 500 memories; each item has its own receipt and status."""
        data = self.body(forms.CreateMemories)
        project = self.project(data)
        if answered := self.replayed(project.pk):
            return answered
        accepted, refused = self.parse(data["memories"], project)
        prepared = writing.prepare(project, list(accepted.values()), self.caller)
        places = list(accepted)

        def act() -> tuple[int, dict[str, Any]]:
            receipts = writing.commit(prepared)
            found = dict(zip(places, receipts, strict=True)) | refused
            return 200, {"results": [batch_item(found[i]) for i in sorted(found)]}

        return self.once(project.pk, act)

    def parse(
        self, items: list[dict[str, Any]], project: Project
    ) -> tuple[dict[int, Draft], dict[int, Receipt]]:
        """Drafts and refusals, each under the place of its item."""
        accepted: dict[int, Draft] = {}
        refused: dict[int, Receipt] = {}
        for place, item in enumerate(items):
            try:
                form = self._validated(forms.MemoryInBatch(data=item))
                refuse_elsewhere(form, project)
                accepted[place] = draft_of(form, project, self)
            except errors.Refusal as refusal:
                refused[place] = Receipt(status="rejected", refusal=refusal)
        return accepted, refused


def refuse_elsewhere(item: dict[str, Any], project: Project) -> None:
    """A batch is of one project; an item that names another one is not moved to it."""
    named = item.get("project_id", project.name)
    if named not in (project.name, str(project.pk)):
        raise errors.Invalid(
            errors={"project_id": ["All items of a batch are of its own project."]}
        )


def draft_of(data: dict[str, Any], project: Project, door: Door) -> Draft:
    names = {field.name for field in dataclasses.fields(Draft)} - {"files", "scope"}
    fields = {name: data[name] for name in names & set(data)}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if not fields.get("memory_type"):
        fields["memory_type"] = classification.type_of(data["content"])
    scope = scopes.resolve(data.get("scope"), project, door.caller)
    return Draft(**fields, files=forms.file_refs(data), scope=scope)


def receipt(written: Receipt) -> tuple[int, dict[str, Any]]:
    if written.refusal:
        raise written.refusal
    return STATUS[written.status], forms.ReceiptOut(written).data


def batch_item(written: Receipt) -> dict[str, Any]:
    if written.refusal:
        return {
            **forms.ReceiptOut(written).data,
            "status_code": written.refusal.status,
            "problem": problem.body_of(written.refusal),
        }
    status, answer = receipt(written)
    return {**answer, "status_code": status}


def retrieval_of(
    data: dict[str, Any], project: Project, door: Door
) -> recall.Retrieval:
    scope = session = None
    if data.get("scope"):
        scope = scopes.resolve(data["scope"], project, door.caller)
    # No session is discovered: only one that is named joins a user's rows.
    is_user = scope is not None and scope.kind == "user"
    if data["include_narrower"] and is_user and data.get("session_id"):
        value = {"kind": "session", "session_id": data["session_id"]}
        session = scopes.resolve(value, project, door.caller)
    filters = forms.filters_of(
        data | {"agent_ids": [data["agent_id"]] if "agent_id" in data else []}
    )
    return recall.Retrieval(
        scope=scope,
        session=session,
        filters=filters,
        since=data.get("since"),
        order=data["order"],
    )


class MemoryDoor(Door):
    @extend_schema(operation_id="memories_read", responses=forms.MemoryDetail)
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """One memory in full, with its files and where it came from."""
        return detail(lifecycle.get(memory_id, self.caller), self)

    @extend_schema(
        operation_id="memories_update",
        request=forms.UpdateMemory,
        responses=forms.MemoryDetail,
    )
    def patch(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Change fields: tags are replaced, metadata merged, a null date cleared."""
        memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
        sent = set(request.data) - {"version"}
        lifecycle.refuse_immutable(dict.fromkeys(sent))
        changes = self.body(forms.UpdateMemory)
        version = changes.pop("version", None)
        lifecycle.update(memory, changes, self.caller, version)
        return detail(lifecycle.get(memory_id, self.caller), self)

    @extend_schema(operation_id="memories_delete", responses={204: None})
    def delete(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Delete; 204 for every id, so that it tells nothing of what exists."""
        lifecycle.delete(memory_id, self.caller)
        return Response(status=204)


def detail(memory: Memory, door: Door) -> Response:
    lineage = recall.lineage(memory, door.caller)
    return Response(forms.MemoryDetail(memory, context={"lineage": lineage}).data)


class RestoreDoor(Door):
    @extend_schema(
        operation_id="memories_restore", request=None, responses=forms.MemoryDetail
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Bring a deleted memory back."""
        lifecycle.restore(memory_id, self.caller)
        return detail(lifecycle.get(memory_id, self.caller), self)


class HistoryDoor(Door):
    @extend_schema(
        operation_id="memories_history", responses=page_of(forms.MemoryChangeOut)
    )
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """What changed in a memory, newest first; a deleted one has it still."""
        if not Memory.objects.visible_to(self.caller).filter(pk=memory_id).exists():
            raise errors.NotFound
        rows = MemoryChange.objects.visible_to(self.caller).filter(memory_id=memory_id)
        return self.page(rows, forms.MemoryChangeOut)


class VerifyDoor(Door):
    @extend_schema(
        operation_id="memories_verify",
        request=forms.Note,
        responses=forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Confirm that a memory still holds."""
        data = self.body(forms.Note)
        memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
        lifecycle.verify(memory, self.caller, note=data["note"])
        return detail(lifecycle.get(memory_id, self.caller), self)


class SupersedeDoor(Door):
    @extend_schema(
        operation_id="memories_supersede",
        request=forms.Supersede,
        responses=forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Say that another memory replaces this one."""
        data = self.body(forms.Supersede)
        memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
        by = lifecycle.get(data["by"], self.caller)
        lifecycle.supersede(memory, by, self.caller, note=data["note"])
        return detail(lifecycle.get(memory_id, self.caller), self)


class UnmarkDuplicateDoor(Door):
    @extend_schema(
        operation_id="memories_unmark_duplicate",
        request=forms.Note,
        responses=forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Say that a memory is no duplicate; it is never marked as one again."""
        data = self.body(forms.Note)
        memory = lifecycle.get(memory_id, self.caller, Role.CURATOR)
        duplicates.unmark(memory, self.caller, note=data["note"])
        return detail(lifecycle.get(memory_id, self.caller), self)


class DeleteByScopeDoor(Door):
    @extend_schema(
        operation_id="memories_delete_by_scope",
        request=forms.DeleteByScope,
        responses=forms.Deleted,
    )
    def post(self, request: Request) -> Response:
        """Delete exactly one scope of a project, expired rows included."""
        data = self.body(forms.DeleteByScope)
        project = self.project(data, Role.CURATOR)
        scope = scopes.resolve(data["scope"], project, self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            count = lifecycle.delete_scope(project, scope.hash, self.caller)
            return 200, {"deleted": count}

        return self.once(project.pk, act)


class SearchDoor(Door):
    @extend_schema(
        operation_id="search",
        request=forms.SearchRequest,
        responses=forms.SearchAnswer,
    )
    def post(self, request: Request) -> Response:
        """Search memories by meaning, by words, or by both."""
        data = self.body(forms.SearchRequest)
        project = self.project(data, Role.VIEWER)
        scope = None
        if data.get("scope"):
            scope = scopes.resolve(data["scope"], project, self.caller)
        weights = data.get("weights") or {}
        wanted = recall.Request(
            query=data["query"],
            mode=data["mode"],
            limit=data["limit"],
            filters=forms.filters_of(data),
            scope=scope,
            min_score=data.get("min_score"),
            fusion=data.get("fusion"),
            keyword_weight=weights.get("keyword"),
            semantic_weight=weights.get("semantic"),
            explain=data["explain"],
        )
        answer = recall.search(project, wanted, self.caller)
        return Response(forms.SearchAnswer(answer).data)


class PossibleDuplicatesDoor(Door):
    @extend_schema(
        operation_id="possible_duplicates_list",
        parameters=[forms.PossibleDuplicateQuery],
        responses=page_of(forms.PossibleDuplicateOut),
    )
    def get(self, request: Request) -> Response:
        """Pairs that look alike and were kept apart; a person decides."""
        data = self.query(forms.PossibleDuplicateQuery)
        project = self.project(data)
        rows = PossibleDuplicate.objects.visible_to(self.caller).filter(
            project=project, state=data["state"]
        )
        if data["state"] == PossibleDuplicate.State.OPEN:
            rows = rows.waiting()
        return self.page(rows.in_full(), forms.PossibleDuplicateOut)


class DecideDoor(Door):
    """Merge a possible duplicate, or keep both."""

    verdict: str = ""

    @extend_schema(request=forms.Note, responses=forms.PossibleDuplicateOut)
    def post(self, request: Request, pair_id: uuid.UUID) -> Response:
        data = self.body(forms.Note)
        pairs = PossibleDuplicate.objects.visible_to(self.caller)
        pair = pairs.filter(pk=pair_id).first()
        if pair is None:
            raise errors.NotFound
        self.caller.require(Role.CURATOR, pair.project_id)
        duplicates.decide(pair, self.verdict, self.caller, note=data["note"])
        return Response(
            forms.PossibleDuplicateOut(pairs.in_full().get(pk=pair_id)).data
        )


class MergePairDoor(DecideDoor):
    verdict = "merged"


class KeepPairDoor(DecideDoor):
    verdict = "kept_both"


class FilesDoor(Door):
    @extend_schema(
        operation_id="files_list",
        parameters=[forms.FileQuery],
        responses=page_of(forms.FileOut),
    )
    def get(self, request: Request) -> Response:
        """Files of a project, with the number of memories that speak of each."""
        data = self.query(forms.FileQuery)
        project = self.project(data)
        rows = File.objects.visible_to(self.caller).filter(project=project)
        if "path" in data:
            rows = rows.filter(file_path__startswith=data["path"])
        return self.page(rows.counted_for(self.caller), forms.FileOut)


class RenameFileDoor(Door):
    @extend_schema(
        operation_id="files_rename",
        request=forms.RenameFile,
        responses=forms.FileOut,
    )
    def post(self, request: Request) -> Response:
        """Move a file's links to its new path."""
        data = self.body(forms.RenameFile)
        project = self.project(data)

        def act() -> tuple[int, dict[str, Any]]:
            file = files.rename(
                project, data["old_path"], data["new_path"], self.caller
            )
            rows = File.objects.visible_to(self.caller).counted_for(self.caller)
            return 200, forms.FileOut(rows.get(pk=file.pk)).data

        return self.once(project.pk, act)


class SyncFilesDoor(Door):
    @extend_schema(
        operation_id="files_sync", request=forms.SyncFiles, responses=forms.SyncedOut
    )
    def post(self, request: Request) -> Response:
        """Tell which content the files have now; links to older ones become suspect."""
        data = self.body(forms.SyncFiles)
        project = self.project(data)
        seen = {item["path"]: item["hash"] for item in data["files"]}
        return self.once(
            project.pk, lambda: (200, files.sync(project, seen, self.caller))
        )


class TagsDoor(Door):
    @extend_schema(
        operation_id="tags_list",
        parameters=[forms.TagQuery],
        responses=page_of(forms.TagOut),
    )
    def get(self, request: Request) -> Response:
        """The vocabulary of a project, with the use of each tag."""
        data = self.query(forms.TagQuery)
        project = self.project(data)
        rows = Tag.objects.visible_to(self.caller).filter(project=project)
        if "category" in data:
            rows = rows.filter(category=data["category"])
        if "q" in data:
            rows = rows.filter(name__icontains=data["q"])
        return self.page(rows.counted_for(self.caller), forms.TagOut)

    @extend_schema(
        operation_id="tags_create",
        request=forms.CreateTag,
        responses={201: forms.TagOut},
    )
    def post(self, request: Request) -> Response:
        data = self.body(forms.CreateTag)
        project = self.project(data)
        fields = {
            name: data[name]
            for name in ("name", "description", "category")
            if name in data
        }

        def act() -> tuple[int, dict[str, Any]]:
            return 201, shown(tags.create(project, self.caller, **fields), self)

        return self.once(project.pk, act)


def shown(tag: Tag, door: Door) -> dict[str, Any]:
    rows = Tag.objects.visible_to(door.caller).counted_for(door.caller)
    data: dict[str, Any] = forms.TagOut(rows.get(pk=tag.pk)).data
    return data


def find_tag(tag_id: uuid.UUID, door: Door) -> Tag:
    tag = Tag.objects.visible_to(door.caller).filter(pk=tag_id).first()
    if tag is None:
        raise errors.NotFound
    door.caller.require(Role.CURATOR, tag.project_id)
    found: Tag = tag
    return found


class TagDoor(Door):
    @extend_schema(
        operation_id="tags_update", request=forms.UpdateTag, responses=forms.TagOut
    )
    def patch(self, request: Request, tag_id: uuid.UUID) -> Response:
        """Describe a tag, or rename it in every memory."""
        tag = find_tag(tag_id, self)
        changed = tags.update(tag, self.caller, self.body(forms.UpdateTag))
        return Response(shown(changed, self))

    @extend_schema(operation_id="tags_delete", responses={204: None})
    def delete(self, request: Request, tag_id: uuid.UUID) -> Response:
        """Remove a tag from the vocabulary and from every memory."""
        tags.delete(find_tag(tag_id, self), self.caller)
        return Response(status=204)


class MergeTagDoor(Door):
    @extend_schema(
        operation_id="tags_merge", request=forms.MergeTag, responses=forms.TagOut
    )
    def post(self, request: Request, tag_id: uuid.UUID) -> Response:
        """Replace a tag by another one everywhere."""
        tag = find_tag(tag_id, self)
        into = tags.named(
            tag.project_id, self.body(forms.MergeTag)["into"], self.caller
        )

        def act() -> tuple[int, dict[str, Any]]:
            return 200, shown(tags.merge(tag, into, self.caller), self)

        return self.once(tag.project_id, act)


class DeduplicationsDoor(Door):
    @extend_schema(
        operation_id="deduplications_start",
        request=forms.StartDeduplication,
        responses={202: forms.DeduplicationOut},
    )
    def post(self, request: Request) -> Response:
        """Start a scan for duplicates; without `apply` it only reports."""
        data = self.body(forms.StartDeduplication)
        project = self.project(data, Role.CURATOR)

        def act() -> tuple[int, dict[str, Any]]:
            job = deduplication.start(
                project,
                self.caller,
                threshold=data.get("threshold"),
                apply=data["apply"],
            )
            return 202, report(job, self)

        return self.once(project.pk, act)


class DeduplicationDoor(Door):
    @extend_schema(
        operation_id="deduplications_read",
        parameters=[forms.FindingsQuery],
        responses=forms.DeduplicationOut,
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """How far a scan is and the pairs that it found, a page of them at a time."""
        jobs = Job.objects.visible_to(self.caller)
        job = jobs.filter(pk=job_id, kind=deduplication.KIND).first()
        if job is None:
            raise errors.NotFound
        return Response(report(job, self, **self.query(forms.FindingsQuery)))


def report(
    job: Job, door: Door, *, after: uuid.UUID | None = None, limit: int = 1000
) -> dict[str, Any]:
    rows = DuplicateFinding.objects.visible_to(door.caller).filter(job_id=job.pk)
    if after:
        rows = rows.filter(pk__gt=after)
    pairs = list(rows.order_by("pk")[: limit + 1])
    more = len(pairs) > limit
    return forms.DeduplicationOut(
        {
            "id": job.pk,
            "project_id": job.project_id,
            "state": job.state,
            "progress": job.progress,
            "threshold": job.args["threshold"],
            "apply": job.args["apply"],
            "result": job.result,
            "error": job.error,
            "created_at": job.created_at,
            "finished_at": job.finished_at,
            "pairs": pairs[:limit],
            "pairs_after": pairs[limit - 1].pk if more else None,
        }
    ).data
