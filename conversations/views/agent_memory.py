"""Read and write profile, soul and constraints; their changes; snapshots of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import represent
from common.caller import Role
from conversations.agent_memory import changelog, constraints, snapshots, texts
from conversations.agent_memory.pair import MemoryPair, resolve_pair
from conversations.models import Session
from conversations.serializers import agent_memory as forms
from conversations.serializers.sessions import InSession
from conversations.sessions.lookup import find_session
from conversations.stores import require
from conversations.views.base import SessionView

PAIR = {"project_id": "docs", "user_id": "42", "agent_id": "default"}


def example(name: str, **values: Any) -> OpenApiExample:
    return OpenApiExample(name, value={**PAIR, **values}, request_only=True)


class PairView(ProjectView):
    """Find the agent and the user that a request names.

    The stored answer of an Idempotency-Key has no texts, because a purge would not find them:
    they have no id.
    """

    def pair(
        self, data: Mapping[str, Any], role: Role | None = None
    ) -> tuple[MemoryPair, Session | None]:
        project = self.project(data, role)
        key, session = data.get("session"), None
        if key:
            session = find_session(
                project, key, self.caller, user_id=data.get("user_id")
            )
            session.project = project
        pair = resolve_pair(
            project,
            self.caller,
            user_id=data.get("user_id"),
            agent_id=data.get("agent_id", ""),
            session=session,
        )
        return pair, session

    def version(self, data: Mapping[str, Any], session: Session | None) -> int | None:
        """Return the version to read at; None for the present one."""
        if session is not None or data.get("version", 0) > 0:
            require(self.project(data), self.caller, "versioned_profile_store")
        if session is not None:
            return snapshots.get_or_freeze(session, self.caller).version
        asked = data.get("version", 0)
        return asked if asked > 0 else None


class TextView(PairView):
    """The base of the views of the profile and the soul."""

    scope: ClassVar[str]

    def read(self) -> Response:
        data = self.query(forms.ReadFields)
        pair, session = self.pair(data)
        version = self.version(data, session)
        return Response(texts.read_text(pair, self.scope, version=version)._asdict())

    def write(self) -> Response:
        data = self.body(forms.SetText)
        pair, session = self.pair(data)

        def act() -> tuple[int, dict[str, Any]]:
            found = texts.set_text(
                pair,
                self.scope,
                data["text"],
                self.caller,
                source=data["source"],
                session=session,
            )
            return 200, found._asdict()

        return self.run_once(pair.project.pk, act, hidden=("text",))


class ProfileView(TextView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset({"PUT"})
    scope = "profile"

    @extend_schema(
        operation_id="agent_memory_profile",
        summary="Read what an agent notes about a user",
        parameters=[forms.ReadFields],
        responses=forms.TextOut,
    )
    def get(self, request: Request) -> Response:
        """An empty text if there is none; with `session`, the text at its snapshot."""
        return self.read()

    @extend_schema(
        operation_id="agent_memory_profile_put",
        summary="Replace what an agent notes about a user",
        request=forms.SetText,
        responses=forms.TextOut,
        examples=[example("Notes", text="Likes Go. Works at night.")],
    )
    def put(self, request: Request) -> Response:
        """The old text stays in the changelog, and can be rolled back."""
        return self.write()


class SoulView(TextView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset({"PUT"})
    scope = "soul"

    @extend_schema(
        operation_id="agent_memory_soul",
        summary="Read the character that an agent has for a user",
        parameters=[forms.ReadFields],
        responses=forms.TextOut,
    )
    def get(self, request: Request) -> Response:
        """An empty text if there is none; with `session`, the text at its snapshot."""
        return self.read()

    @extend_schema(
        operation_id="agent_memory_soul_put",
        summary="Replace the character that an agent has for a user",
        request=forms.SetText,
        responses=forms.TextOut,
        examples=[example("A soul", text="You are friendly and concise.")],
    )
    def put(self, request: Request) -> Response:
        """The old text stays in the changelog, and can be rolled back."""
        return self.write()


class ConstraintsView(PairView):
    @extend_schema(
        operation_id="agent_memory_constraints",
        summary="List the constraints that a user set",
        parameters=[forms.ReadFields],
        responses=forms.ConstraintsOut,
    )
    def get(self, request: Request) -> Response:
        data = self.query(forms.ReadFields)
        pair, session = self.pair(data)
        version = self.version(data, session)
        found = constraints.list_constraints(pair, version=version)
        return Response(found._asdict())

    @extend_schema(
        operation_id="agent_memory_constraints_create",
        summary="Add a constraint",
        request=forms.AddConstraint,
        responses={201: forms.ConstraintsOut},
        examples=[example("A constraint", text="Never push to main.")],
    )
    def post(self, request: Request) -> Response:
        """Only the word of a user adds one; the answer lists all."""
        data = self.body(forms.AddConstraint)
        pair, session = self.pair(data)

        def act() -> tuple[int, dict[str, Any]]:
            found = constraints.add_constraint(
                pair,
                data["text"],
                self.caller,
                source=data["source"],
                session=session,
            )
            return 201, found._asdict()

        return self.run_once(pair.project.pk, act, hidden=("constraints",))


class ConstraintView(PairView):
    path_help: ClassVar[Mapping[str, str]] = {
        "constraint_id": "The id that the list of constraints names."
    }
    query_methods: ClassVar[frozenset[str]] = frozenset({"DELETE"})

    @extend_schema(
        operation_id="agent_memory_constraints_remove",
        summary="Remove a constraint",
        parameters=[forms.RemoveConstraint],
        responses={200: forms.ConstraintsOut},
    )
    def delete(self, request: Request, constraint_id: str) -> Response:
        """The answer lists the others."""
        data = self.query(forms.RemoveConstraint)
        pair, session = self.pair(data)
        found = constraints.remove_constraint(
            pair, constraint_id, self.caller, source=data["source"], session=session
        )
        return Response(found._asdict())


class ChangesView(PairView):
    @extend_schema(
        operation_id="agent_memory_changes",
        summary="List the changes of an agent memory, the newest first",
        parameters=[forms.ListChanges],
        responses=forms.ChangesOut,
    )
    def get(self, request: Request) -> Response:
        data = self.query(forms.ListChanges)
        pair, _ = self.pair(data)
        require(pair.project, self.caller, "changelog_reader")
        rows = changelog.changes_of(pair)
        if "scope" in data:
            rows = rows.filter(scope=data["scope"])
        results = [
            represent(forms.AgentMemoryChangeOut, row) for row in rows[: data["limit"]]
        ]
        return Response({"results": results})

    @extend_schema(
        operation_id="agent_memory_changes_create",
        summary="Add an entry of your own to the changelog",
        request=forms.AddChange,
        responses={201: forms.AgentMemoryChangeOut},
        examples=[
            example(
                "A skill",
                scope="skill",
                action="create",
                after_text="Deploys by script.",
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """An entry of a skill or a compaction; it raises no version."""
        data = self.body(forms.AddChange)
        pair, session = self.pair(data)
        require(pair.project, self.caller, "changelog_writer")

        def act() -> tuple[int, dict[str, Any]]:
            row = changelog.add_entry(
                pair,
                data["scope"],
                data["action"],
                self.caller,
                before=data.get("before_text", ""),
                after=data.get("after_text", ""),
                source=data["source"],
                session=session,
            )
            return 201, represent(forms.AgentMemoryChangeOut, row)

        texts_of_row = ("before_text", "after_text")
        return self.run_once(pair.project.pk, act, hidden=texts_of_row)


class RollbackView(PairView):
    @extend_schema(
        operation_id="agent_memory_rollback",
        summary="Write an earlier profile or soul again",
        request=forms.RollBack,
        responses=forms.TextOut,
        examples=[example("Back to version 2", scope="profile", version=2)],
    )
    def post(self, request: Request) -> Response:
        """The rollback is a new change with the source `user`."""
        data = self.body(forms.RollBack)
        pair, session = self.pair(data)
        require(pair.project, self.caller, "changelog_writer")

        def act() -> tuple[int, dict[str, Any]]:
            found = texts.roll_back(
                pair, data["scope"], data["version"], self.caller, session=session
            )
            return 200, found._asdict()

        return self.run_once(pair.project.pk, act, hidden=("text",))


class SnapshotView(SessionView):
    capability = "session_snapshot_store"

    @extend_schema(
        operation_id="sessions_snapshot",
        summary="Freeze what a session sees of its agent memory",
        request=InSession,
        responses=forms.SnapshotOut,
        examples=[
            OpenApiExample("Freeze", value={"project_id": "docs"}, request_only=True)
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """The first call freezes the present version; later calls return the same."""
        project, session = self.session(self.body(InSession), key)

        def act() -> tuple[int, dict[str, Any]]:
            found = snapshots.get_or_freeze(session, self.caller)
            return 200, forms.SnapshotOut(found).data

        return self.run_once(project.pk, act)


class AdvanceView(SessionView):
    capability = "session_snapshot_store"

    @extend_schema(
        operation_id="sessions_snapshot_advance",
        summary="Let a session see the present agent memory",
        request=InSession,
        responses=forms.SnapshotOut,
        examples=[
            OpenApiExample("Advance", value={"project_id": "docs"}, request_only=True)
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        project, session = self.session(self.body(InSession), key)

        def act() -> tuple[int, dict[str, Any]]:
            found = snapshots.advance(session, self.caller)
            return 200, forms.SnapshotOut(found).data

        return self.run_once(project.pk, act)
