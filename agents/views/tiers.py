"""Store, read, delete and find facts and episodes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers import tiers as forms
from agents.tiers.embeddings import read_embeddings
from agents.tiers.episodes import EPISODE, EpisodeDraft, prepare_episode
from agents.tiers.facts import FACT, FactDraft, prepare_fact
from agents.tiers.tier_search import TierQuery, search_tier
from agents.tiers.tier_write import commit, delete_of_kind, get_of_kind, kept_memory
from agents.views.base import AgentView
from common import replicas
from common.api.serializers import represent
from common.api.views import EVERY_FIELD
from common.caller import Role
from memories.read.search import MemoryHit
from memories.serializers.search import filters_of
from memories.store.write import Batch
from memories.views.answers import STATUS

READ_ONLY: frozenset[str] = frozenset()
PATH_HELP = "The id of the memory."


def _pick(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def _store(view: AgentView, prepared: Batch, id_name: str) -> Response:
    """Write a prepared row once, and answer with its id, its status and notes."""

    def act() -> tuple[int, dict[str, Any]]:
        receipt = commit(prepared)
        answer = {
            id_name: str(kept_memory(receipt).pk),
            "status": receipt.status,
            "notes": list(receipt.notes),
        }
        return STATUS[receipt.status], answer

    return view.run_once(prepared.project.pk, act)


class SearchTierView(AgentView):
    """Find rows of one kind, and answer with them under a name of seed 004."""

    idempotent_methods: ClassVar[frozenset[str]] = READ_ONLY  # the view only reads

    def search(
        self,
        data: Mapping[str, Any],
        kind: str,
        shape: type[forms.TierOut],
    ) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Return the hits as JSON, and the notes of the search."""
        project = self.project(data, Role.VIEWER)
        with_vectors = data["include_embedding"]
        if with_vectors:
            self.caller.require(Role.CURATOR, project.pk)
        options = _pick(
            data, "query", "embedding", "user", "top_k", "mode", "syntax", "cutoff"
        )
        asked = TierQuery(
            **options, min_score=data.get("min_score"), filters=filters_of(dict(data))
        )
        found = replicas.read_from_replica(
            lambda: search_tier(project, self.caller, asked, kind=kind)
        )
        answers = [_hit(hit, shape) for hit in found.hits]
        if with_vectors:
            memories = [hit.memory for hit in found.hits]
            vectors = read_embeddings(project, memories, self.caller)
            for memory, answer in zip(memories, answers, strict=True):
                answer["embedding"] = vectors.get(memory.pk, [])
        return answers, found.notes


def _hit(hit: MemoryHit, shape: type[forms.TierOut]) -> dict[str, Any]:
    row: dict[str, Any] = represent(shape, hit.memory)
    beside = {
        "score": hit.score,
        "relevant": hit.is_relevant,
        "snippet": hit.snippet,
    }
    return row | beside


def _answer(name: str, rows: list[dict[str, Any]], notes: Sequence[str]) -> Response:
    return Response({name: rows, "notes": list(notes)})


class FactsView(AgentView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD

    @extend_schema(
        operation_id="facts_create",
        summary="Store a fact",
        request=forms.StoreFact,
        responses={201: forms.StoredFactOut, 200: forms.StoredFactOut},
        examples=[
            OpenApiExample(
                "A fact about user 42",
                value={
                    "collection": "docs",
                    "content": "The staging database is called blue-2.",
                    "user": "42",
                    "source": "chat-7",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Store a fact: the user's if one is named, else everybody's in the project.

        A fact that repeats an earlier one is answered with the id of the earlier one. Where
        memory is off for the user or the conversation, the answer is 409 `memory_off`.
        """
        data = self.body(forms.StoreFact)
        project = self.project(data)
        if answer := self.replay(project.pk):
            return answer
        draft = FactDraft(
            **_pick(
                data,
                *("content", "source", "user", "metadata", "key", "value"),
                "expires_at",
            )
        )
        prepared = prepare_fact(project, draft, self.caller)
        return _store(self, prepared, "fact_id")


class FactView(AgentView):
    query_methods: ClassVar[frozenset[str]] = frozenset()
    path_help: ClassVar[Mapping[str, str]] = {"fact_id": PATH_HELP}

    @extend_schema(
        operation_id="facts_read", summary="Read a fact", responses=forms.FactAnswer
    )
    def get(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Read a fact, also one that a newer fact of its key has replaced."""
        memory = get_of_kind(fact_id, FACT, self.caller)
        return Response({"fact": represent(forms.FactOut, memory)})

    @extend_schema(
        operation_id="facts_delete",
        summary="Delete a fact",
        responses={200: forms.StoredFactOut},
    )
    def delete(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Delete a fact: no read finds it any more, and its history stays.

        To destroy its text, purge it (`POST /purge`).
        """
        delete_of_kind(fact_id, FACT, self.caller)
        return Response({"fact_id": str(fact_id), "status": "deleted"})


class RetrieveFactsView(SearchTierView):
    @extend_schema(
        operation_id="facts_retrieve",
        summary="Find the facts for a question",
        request=forms.RetrieveFacts,
        responses=forms.FactsAnswer,
        examples=[
            OpenApiExample(
                "The facts that user 42 may be told",
                value={
                    "collection": "docs",
                    "query": "Where is staging?",
                    "user": "42",
                    "top_k": 5,
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Find facts by meaning and by words: the project's, and those of the named user.

        Where memory is off for the user, there are none, and a note says so.
        """
        data = self.body(forms.RetrieveFacts)
        return _answer("facts", *self.search(data, FACT, forms.FactOut))


class EpisodesView(AgentView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD

    @extend_schema(
        operation_id="episodes_create",
        summary="Store an episode",
        request=forms.StoreEpisode,
        responses={201: forms.StoredEpisodeOut, 200: forms.StoredEpisodeOut},
        examples=[
            OpenApiExample(
                "A deployment that failed first",
                value={
                    "collection": "docs",
                    "goal": "Deploy the docs to staging.",
                    "steps": ["Ran make deploy", "Raised the memory to 2 GB"],
                    "outcome": "It was deployed at the second attempt.",
                    "lessons": "The build needs 2 GB of memory.",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Store a past task: the user's if one is named, else everybody's in the project.

        Goal, steps, outcome and lessons are all searched; the content is made from them.
        """
        data = self.body(forms.StoreEpisode)
        project = self.project(data)
        if answer := self.replay(project.pk):
            return answer
        names = ("goal", "steps", "outcome", "lessons", "user", "metadata", "source")
        draft = EpisodeDraft(**_pick(data, *names, "tags", "expires_at"))
        prepared = prepare_episode(project, draft, self.caller)
        return _store(self, prepared, "episode_id")


class EpisodeView(AgentView):
    query_methods: ClassVar[frozenset[str]] = frozenset()
    path_help: ClassVar[Mapping[str, str]] = {"episode_id": PATH_HELP}

    @extend_schema(
        operation_id="episodes_read",
        summary="Read an episode",
        responses=forms.EpisodeAnswer,
    )
    def get(self, request: Request, episode_id: uuid.UUID) -> Response:
        memory = get_of_kind(episode_id, EPISODE, self.caller)
        return Response({"episode": represent(forms.EpisodeOut, memory)})

    @extend_schema(
        operation_id="episodes_delete",
        summary="Delete an episode",
        responses={200: forms.StoredEpisodeOut},
    )
    def delete(self, request: Request, episode_id: uuid.UUID) -> Response:
        """Delete an episode: no read finds it any more, and its history stays.

        To destroy its text, purge it (`POST /purge`).
        """
        delete_of_kind(episode_id, EPISODE, self.caller)
        return Response({"episode_id": str(episode_id), "status": "deleted"})


class RetrieveEpisodesView(SearchTierView):
    @extend_schema(
        operation_id="episodes_retrieve",
        summary="Find past tasks like this one",
        request=forms.RetrieveEpisodes,
        responses=forms.EpisodesAnswer,
        examples=[
            OpenApiExample(
                "Episodes like a goal",
                value={"collection": "docs", "query": "Deploy to staging", "top_k": 3},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Find the episodes most like a goal or a situation, the best first."""
        data = self.body(forms.RetrieveEpisodes)
        return _answer("episodes", *self.search(data, EPISODE, forms.EpisodeOut))


class SearchEpisodesView(SearchTierView):
    @extend_schema(
        operation_id="episodes_search",
        summary="Search episodes with filters",
        request=forms.SearchEpisodes,
        responses=forms.EpisodesAnswer,
        examples=[
            OpenApiExample(
                "Failed deployments",
                value={
                    "collection": "docs",
                    "query": "deploy staging",
                    "outcome": "failed",
                    "tags": ["deploy"],
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Search episodes like `POST /search`: by outcome, dates, tags and metadata too."""
        data = self.body(forms.SearchEpisodes)
        return _answer("episodes", *self.search(data, EPISODE, forms.EpisodeOut))
