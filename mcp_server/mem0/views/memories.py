"""Store, find, read, change and delete memories as mem0's client asks for it."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from common import replicas
from common.api.views import EVERY_FIELD
from common.caller import Role
from mcp_server.mem0 import add, answers, find, remove
from mcp_server.mem0 import serializers as forms
from mcp_server.mem0.add import Addition
from mcp_server.mem0.find import FilteredSearch
from mcp_server.mem0.messages import read_conversation
from mcp_server.mem0.views.view import Mem0View
from memories.lifecycle import update
from memories.read.recalls import note_recalled

READS = {"POST": Role.VIEWER}
RERANK = (
    "rerank: one ranking by meaning and by words is all there is; there is no second"
)
UNNAMED = (
    "memories that match are of a user, an app or a run that the request does not name, and "
    'remain; name it too, or send "*" for any'
)


class PingView(Mem0View):
    """How a client finds out whether its key is good, and for which project."""

    query_methods: ClassVar[frozenset[str]] = frozenset()

    def get(self, request: Request, **kwargs: Any) -> Response:
        project = self.door_project
        ids = {"org_id": project.organization_id, "project_id": project.pk}
        return Response({"status": "ok", **ids, "user_email": None})


class AddMemoriesView(Mem0View):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD

    def post(self, request: Request, **kwargs: Any) -> Response:
        data = self.read_options(forms.AddMemories)
        project = self.door_project
        if answer := self.replay(project.pk):
            return answer
        addition = Addition(
            read_conversation(data["messages"]),
            data["ids"],
            metadata=data.get("metadata", {}),
            occurred_at=data.get("timestamp"),
            expires_at=data.get("expiration_date"),
            infer=data["infer"],
        )
        prepared = add.prepare(project, addition, self.caller)
        return self.run_once(project.pk, lambda: (200, add.commit(prepared)))


class SearchMemoriesView(Mem0View):
    required_roles: ClassVar[dict[str, Role]] = READS

    def post(self, request: Request, **kwargs: Any) -> Response:
        data = self.read_options(forms.SearchMemories)
        project = self.door_project
        search = FilteredSearch(
            data["query"],
            data["filters"],
            limit=data["top_k"],
            min_score=data["threshold"],
            mode="hybrid" if data["keyword_search"] else "semantic",
        )
        ranked = replicas.read_from_replica(
            lambda: find.search(project, search, self.caller)
        )
        note_recalled(hit.memory for hit in ranked.hits)
        for note in (*ranked.notes, *([RERANK] if data["rerank"] else [])):
            self.notes.add(note)
        chosen = data.get("fields", ())
        results = [
            answers.represent_memory(hit.memory, score=hit.score, fields=chosen)
            for hit in ranked.hits
        ]
        return Response({"results": results})


class MemoriesPageView(Mem0View):
    required_roles: ClassVar[dict[str, Role]] = READS
    query_methods: ClassVar[frozenset[str]] = frozenset({"POST"})

    def post(self, request: Request, **kwargs: Any) -> Response:
        data, page = (
            self.read_options(forms.ListMemories),
            self.query(forms.NumberedPage),
        )
        rows = find.find_matching(self.door_project, data["filters"], self.caller)
        first = (page["page"] - 1) * page["page_size"]
        shown = rows.order_by("-pk").light()[first : first + page["page_size"]]
        chosen = data.get("fields", ())
        results = [answers.represent_memory(each, fields=chosen) for each in shown]
        return self.numbered_page(page, rows.count(), results)


class AllMemoriesView(Mem0View):
    query_methods: ClassVar[frozenset[str]] = frozenset({"DELETE"})

    def delete(self, request: Request, **kwargs: Any) -> Response:
        data, project = self.query(forms.DeleteAllQuery), self.door_project
        matching = data["matching"]
        if ids := data["ids"]:
            deleted = remove.delete_of(project, ids, self.caller)
        else:
            deleted = remove.delete_matching(project, matching, self.caller)
        if deleted == remove.MAX_AT_ONCE:
            self.notes.add(remove.MORE)
        elif left := remove.count_left(project, matching, self.caller):
            self.notes.add(f"{left} {UNNAMED}")
        answer = {"message": "Memories deleted successfully!", "deleted": deleted}
        return Response(answer)


class OneMemoryView(Mem0View):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD
    query_methods: ClassVar[frozenset[str]] = frozenset({"DELETE"})

    def get(self, request: Request, memory_id: str, **kwargs: Any) -> Response:
        memory = find.find_memory(self.door_project, memory_id, self.caller)
        return Response(answers.represent_memory(memory))

    def put(self, request: Request, memory_id: str, **kwargs: Any) -> Response:
        project = self.door_project
        changes = self.body(forms.ChangeMemory)
        memory = find.find_memory(project, memory_id, self.caller)
        named = forms.columns_of(changes)
        memory = update.update_memory(memory, named, self.caller, None, min_length=1)
        return Response(answers.represent_memory(memory))

    def delete(self, request: Request, memory_id: str, **kwargs: Any) -> Response:
        project, data = self.door_project, self.query(forms.DeleteQuery)
        memory = find.find_memory(project, memory_id, self.caller)
        remove.delete_memory(memory, self.caller, with_older=data["delete_linked"])
        return Response({"message": "Memory deleted successfully!"})


class MemoryChangesView(Mem0View):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    def get(self, request: Request, memory_id: str, **kwargs: Any) -> Response:
        found = find.find_history(self.door_project, memory_id, self.caller)
        return Response(answers.represent_changes(*found))
