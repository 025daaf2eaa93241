"""How each route of the API is called, and who may call it.

A new route has no row here, and `test_every_route.py` fails until it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, get_resolver

from common.caller import Role
from context.context import PARTS
from tests.isolation.world import API, World
from tests.support.streams import read_stream

Given = Callable[[World], dict[str, Any]]


def nothing(world: World) -> dict[str, Any]:
    return {}


def in_project(world: World) -> dict[str, Any]:
    return {"project_id": str(world.project.pk)}


@dataclass(frozen=True)
class Route:
    """One method of one route.

    `path` fills its parameters by names of the world. `lowest` is the role that it
    needs, None for anybody known; a lower role gets `below`. A stranger to the project
    gets `stranger`. `is_private`: another user of the same project gets that, too.
    `is_raw`: the body is a file, which has no fields. `is_users_own`: a writer's key also
    needs to act for users, as the route writes what is a user's own. `is_own_persons`: it
    is found by the keys of the person alone who made the row.
    """

    method: str
    route: str
    path: tuple[str, ...] = ()
    body: Given = nothing
    query: Given = nothing
    lowest: Role | None = Role.VIEWER
    below: int = 403
    stranger: int = 404
    is_private: bool = False
    is_for_root: bool = field(default=False)
    is_raw: bool = False
    is_users_own: bool = False
    is_own_persons: bool = False

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"

    def url(self, world: World) -> str:
        parts = iter(self.path)
        pieces = [
            getattr(world, next(parts)) if "<" in piece else piece
            for piece in self.route.split("/")
        ]
        return "/" + "/".join(pieces)

    def typed(self, world: World) -> list[str]:
        """The texts of the request itself, which the answer may repeat."""
        parts = [getattr(world, name) for name in self.path]
        return [*parts, *_texts([self.body(world), self.query(world)])]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def send(client, route: Route, world: World, **replaced: str):
    """Call a route; `replaced` overrides values of its body or query."""

    def given(what: Given) -> dict[str, Any]:
        found = what(world)
        return found | {k: v for k, v in replaced.items() if k in found}

    kind = {"QUERY_STRING": urlencode(given(route.query), doseq=True)}
    call = getattr(client, route.method.lower())
    if route.method in ("GET", "DELETE") and route.body is nothing:
        return read_whole(call(route.url(world), **kind))
    return read_whole(call(route.url(world), given(route.body), format="json", **kind))


def read_whole(answer):
    """Read a stream to its end, so that the answer has a content."""
    if answer.streaming:
        text = read_stream(answer)
        return HttpResponse(text, status=answer.status_code, headers=answer.headers)
    return answer


def routes() -> set[str]:
    """Every method and route below /api/ that the resolver knows."""
    return set(_walk(get_resolver(), ""))


def _walk(resolver: URLResolver, prefix: str) -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if route.startswith("api") or not route:
                yield from _walk(pattern, route)
        elif isinstance(pattern, URLPattern) and route.startswith("api/"):
            view = pattern.callback.cls
            for method in view.http_method_names:
                if hasattr(view, method) and method not in ("head", "options"):
                    yield f"{method.upper()} {route}"


WRITER, CURATOR, OWNER = Role.WRITER, Role.CURATOR, Role.OWNER
V1 = API.removeprefix("/")
PROJECT = f"{V1}/projects/<id_or_name:project_id>"
KEY = f"{V1}/keys/<uuid:key_id>"
JOB = f"{V1}/jobs/<uuid:job_id>"
MEMORY = f"{V1}/memories/<uuid:memory_id>"
PAIR = f"{V1}/possible-duplicates/<uuid:pair_id>"
PURGE = f"{V1}/purges/<uuid:purge_id>"
ENTRY = f"{V1}/playbook/rules/<uuid:entry_id>"
DELTA = f"{V1}/proposals/<uuid:delta_id>"
RUN = f"{V1}/runs/<uuid:run_id>"
REFLECTION = f"{V1}/reflections/<uuid:reflection_id>"
SESSION = f"{V1}/sessions/<session_key:key>"
SUMMARY = f"{V1}/summaries/<str:summary_id>"
AGENT_MEMORY = f"{V1}/agent-memory"
CONVERSATION = f"{V1}/conversations/<str:conversation_id>"
TOOLS = f"{V1}/agents/tools"
AGENT_RUNS = f"{V1}/agents/runs"
AGENT_RUN = f"{AGENT_RUNS}/<uuid:run_id>"
TOOL = f"{TOOLS}/<str:name>"


def filled(**more: Any) -> Given:
    """These values; a tuple is replaced by the value of that name in the world."""

    def make(world: World) -> dict[str, Any]:
        return {
            k: getattr(world, v[0]) if isinstance(v, tuple) else v
            for k, v in more.items()
        }

    return make


def about(**more: Any) -> Given:
    """These values, and the project."""
    return lambda world: in_project(world) | filled(**more)(world)


TOOL_BODY = {"url": "https://tickets.example.com/mcp"}
MEMORY_BODY = about(content="A new memory of the team", memory_type="learning")

TABLE = [
    # Projects, members and keys
    Route("GET", f"{V1}/projects", lowest=None, stranger=200),
    Route(
        "POST",
        f"{V1}/projects",
        body=filled(name="another"),
        lowest=None,
        stranger=403,
        is_for_root=True,
    ),
    Route("GET", PROJECT, ("project_id",)),
    Route("PATCH", PROJECT, ("project_id",), filled(description="mine"), lowest=OWNER),
    Route("DELETE", PROJECT, ("project_id",), lowest=OWNER),
    Route("POST", f"{PROJECT}/restore", ("gone",), lowest=OWNER, below=404),
    Route("GET", f"{PROJECT}/settings", ("project_id",)),
    Route(
        "PATCH",
        f"{PROJECT}/settings",
        ("project_id",),
        filled(policy="manual"),
        lowest=OWNER,
    ),
    Route("GET", f"{PROJECT}/indexing", ("project_id",)),
    Route("GET", f"{PROJECT}/members", ("project_id",)),
    Route(
        "POST",
        f"{PROJECT}/members",
        ("project_id",),
        filled(username=("member",), role="owner"),
        lowest=OWNER,
    ),
    Route(
        "DELETE",
        f"{PROJECT}/members",
        ("project_id",),
        query=filled(username=("member",)),
        lowest=OWNER,
    ),
    Route("GET", f"{V1}/keys", lowest=None, stranger=200),
    Route(
        "POST",
        f"{V1}/keys",
        body=lambda w: {"name": "mine", "projects": [str(w.project.pk)]},
        lowest=OWNER,
    ),
    Route("GET", KEY, ("key",), lowest=OWNER, below=404),
    Route("DELETE", KEY, ("key",), lowest=OWNER, below=404),
    Route(
        "PATCH",
        KEY,
        ("key",),
        body=lambda w: {"may_attest": False},
        lowest=OWNER,
        below=404,
    ),
    Route("POST", f"{KEY}/rotate", ("key",), lowest=OWNER, below=404),
    # The record and the work
    Route("GET", f"{V1}/audit", query=about(), lowest=OWNER),
    Route("GET", f"{V1}/jobs", query=about()),
    Route("GET", JOB, ("failed_job",)),
    Route("POST", f"{JOB}/retry", ("failed_job",), lowest=CURATOR),
    Route("POST", f"{JOB}/discard", ("failed_job",), lowest=CURATOR),
    Route("POST", f"{JOB}/cancel", ("waiting_job",), lowest=CURATOR),
    # Memories
    Route("POST", f"{V1}/memories", body=MEMORY_BODY, lowest=WRITER),
    Route("GET", f"{V1}/memories", query=about(include_duplicates=True)),
    Route(
        "POST",
        f"{V1}/memories/batch",
        body=about(
            memories=[{"content": "One more for all", "memory_type": "warning"}]
        ),
        lowest=WRITER,
    ),
    Route(
        "POST",
        f"{V1}/memories/delete-by-scope",
        body=about(scope={"kind": "workspace"}),
        lowest=CURATOR,
    ),
    Route(
        "POST",
        f"{V1}/memories/compact",
        body=lambda world: about(content="Both", source_ids=[world.memory])(world),
        lowest=WRITER,
    ),
    Route(
        "POST",
        f"{MEMORY}/promote",
        ("memory",),
        body=filled(target_scope={"kind": "org"}),
        lowest=WRITER,
        is_private=True,
    ),
    Route(
        "POST",
        f"{MEMORY}/undo-compaction",
        ("compacted",),
        lowest=WRITER,
        is_private=True,
    ),
    Route("GET", MEMORY, ("memory",), is_private=True),
    Route(
        "PATCH",
        MEMORY,
        ("memory",),
        filled(goal="mine"),
        lowest=WRITER,
        is_private=True,
    ),
    Route("DELETE", MEMORY, ("memory",), lowest=WRITER, stranger=204, is_private=True),
    Route("POST", f"{MEMORY}/restore", ("deleted",), lowest=WRITER, is_private=True),
    Route("GET", f"{MEMORY}/history", ("memory",), is_private=True),
    Route("POST", f"{MEMORY}/verify", ("memory",), lowest=WRITER, is_private=True),
    Route(
        "POST",
        f"{MEMORY}/supersede",
        ("memory",),
        filled(by=("other",)),
        lowest=WRITER,
        is_private=True,
    ),
    Route(
        "POST",
        f"{MEMORY}/unmark-duplicate",
        ("duplicate",),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "POST", f"{V1}/search", body=about(query="harbour script night", explain=True)
    ),
    Route("GET", f"{V1}/possible-duplicates", query=about()),
    Route("POST", f"{PAIR}/merge", ("pair",), lowest=CURATOR, is_private=True),
    Route("POST", f"{PAIR}/keep", ("pair",), lowest=CURATOR, is_private=True),
    # Files and tags
    Route("GET", f"{V1}/files", query=about()),
    Route("GET", f"{V1}/files/graph", query=about(path=("file",)), is_private=True),
    Route(
        "POST",
        f"{V1}/files/rename",
        body=about(old_path=("file",), new_path="src/new.py"),
        lowest=WRITER,
        is_private=True,
    ),
    Route(
        "POST",
        f"{V1}/files/sync",
        body=about(files=[{"path": "src/other.py", "hash": "ab"}]),
        lowest=WRITER,
    ),
    Route("GET", f"{V1}/tags", query=about()),
    Route("POST", f"{V1}/tags", body=about(name="fresh"), lowest=WRITER),
    Route(
        "PATCH",
        f"{V1}/tags/<uuid:tag_id>",
        ("tag",),
        filled(description="mine"),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "DELETE", f"{V1}/tags/<uuid:tag_id>", ("tag",), lowest=CURATOR, is_private=True
    ),
    Route(
        "POST",
        f"{V1}/tags/<uuid:tag_id>/merge",
        ("tag",),
        filled(into=("tag_two",)),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "POST",
        f"{V1}/purge",
        body=about(user_id="nobody", reason="asked"),
        lowest=OWNER,
    ),
    Route("GET", f"{V1}/purges", query=about(), lowest=OWNER),
    Route("GET", PURGE, ("purge",), lowest=OWNER, below=404),
    Route(
        "POST",
        f"{PURGE}/proof",
        ("purge",),
        filled(text="nothing"),
        lowest=OWNER,
        below=404,
    ),
    Route("GET", f"{V1}/compactions", query=about()),
    Route("GET", f"{V1}/compactions/plan", query=about()),
    Route("POST", f"{V1}/compactions", body=about(), lowest=CURATOR),
    Route("GET", f"{V1}/quotas", query=about()),
    Route("POST", f"{V1}/deduplications", body=about(), lowest=CURATOR),
    Route("GET", f"{V1}/deduplications/<uuid:job_id>", ("scan",)),
    # The playbook
    Route("GET", f"{V1}/playbook", query=about()),
    Route("GET", f"{V1}/playbook/render", query=about()),
    Route("GET", f"{V1}/playbook/export", query=about(format="ace")),
    Route(
        "POST",
        f"{V1}/playbook/import",
        body=about(content="[new-00001] Run `make check` before each push."),
        lowest=WRITER,
    ),
    Route("GET", f"{V1}/playbook/changes", query=about()),
    Route("GET", f"{V1}/playbook/diff", query=about(from_revision="0")),
    Route("POST", f"{V1}/playbook/revert", body=about(revision=0), lowest=CURATOR),
    Route(
        "POST",
        f"{V1}/playbook/rules",
        body=about(content="Run `make check` before each push.", category="gotchas"),
        lowest=WRITER,
    ),
    Route("GET", ENTRY, ("entry",)),
    Route("PATCH", ENTRY, ("entry",), filled(priority=3), lowest=WRITER),
    Route("DELETE", ENTRY, ("entry",), lowest=WRITER),
    Route("GET", f"{ENTRY}/history", ("entry",)),
    Route("POST", f"{ENTRY}/verify", ("entry",), filled(note="ok"), lowest=CURATOR),
    Route("GET", f"{V1}/proposals", query=about()),
    Route(
        "POST",
        f"{V1}/proposals",
        body=about(operation="deprecate", entry_id=("entry",)),
        lowest=WRITER,
    ),
    Route(
        "POST",
        f"{V1}/proposals/bulk",
        body=lambda w: (
            in_project(w) | {"action": "reject", "ids": [w.delta], "reason": "no"}
        ),
        lowest=CURATOR,
    ),
    Route("GET", DELTA, ("delta",), is_private=True),
    Route("POST", f"{DELTA}/accept", ("delta",), lowest=CURATOR, is_private=True),
    Route(
        "POST",
        f"{DELTA}/edit",
        ("delta",),
        filled(content="Run `blue.sh` to deploy."),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "POST",
        f"{DELTA}/merge",
        ("delta",),
        filled(entry_id=("entry",), content="Run `blue.sh` to deploy."),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "POST",
        f"{DELTA}/reject",
        ("delta",),
        filled(reason="no"),
        lowest=CURATOR,
        is_private=True,
    ),
    Route("POST", f"{DELTA}/undo", ("applied",), lowest=CURATOR),
    # Runs and context
    Route(
        "POST",
        f"{V1}/complete-task",
        body=about(goal="Tidy up", result="It is tidy"),
        lowest=WRITER,
    ),
    Route("GET", f"{V1}/runs", query=about()),
    Route("GET", RUN, ("run",)),
    Route("POST", f"{RUN}/resume", ("stuck",), lowest=WRITER),
    Route("GET", f"{V1}/reflections/next", query=about(), lowest=WRITER),
    Route("GET", REFLECTION, ("reflection",)),
    Route(
        "PUT",
        REFLECTION,
        ("reflection",),
        body=filled(part=1, answer={"reasoning": "", "errors": [], "lessons": []}),
        lowest=WRITER,
        is_own_persons=True,
    ),
    Route(
        "POST",
        f"{V1}/context",
        body=about(
            task_description="deploy the harbour script",
            top_k=50,
            parts=[*PARTS],
            failed={
                "tool": "Bash",
                "arguments": {"command": "deploy --harbour"},
                "error": "unknown option --harbour",
            },
        ),
    ),
    Route("GET", f"{V1}/context/digest-config", query=about()),
    Route(
        "PUT",
        f"{V1}/context/digest-config",
        body=about(config={"keyword": {"limit": 5}}),
        lowest=CURATOR,
    ),
    # Sessions
    Route("GET", f"{V1}/sessions", query=about(include_archived=True)),
    Route("POST", f"{V1}/sessions", body=about(key="fresh"), lowest=WRITER),
    Route(
        "POST",
        f"{V1}/commits",
        body=about(
            commits=[
                {
                    "id": "ab" * 20,
                    "subject": "Cap the backoff",
                    "date": "2026-11-01T10:00:00Z",
                }
            ]
        ),
        lowest=WRITER,
    ),
    Route("POST", f"{V1}/sessions/search", body=about(query="harbour script")),
    Route("GET", SESSION, ("session",), query=about(), is_private=True),
    Route(
        "PATCH",
        SESSION,
        ("session",),
        about(title="mine"),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route(
        "DELETE",
        SESSION,
        ("session",),
        query=about(),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route(
        "POST",
        f"{SESSION}/fork",
        ("session",),
        about(seq=1, key="fork"),
        lowest=WRITER,
        is_private=True,
    ),
    Route(
        "POST",
        f"{SESSION}/claim",
        ("anonymous",),
        about(user_id="u9"),
        lowest=CURATOR,
    ),
    Route(
        "POST",
        f"{SESSION}/messages",
        ("session",),
        about(messages=[{"role": "user", "content": "And now?"}]),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route("GET", f"{SESSION}/messages", ("session",), query=about(), is_private=True),
    Route(
        "DELETE",
        f"{SESSION}/messages",
        ("session",),
        query=about(from_seq=30),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route(
        "POST",
        f"{SESSION}/messages/<int:seq>/redact",
        ("session", "seq"),
        about(reason="personal"),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route("GET", f"{SESSION}/stats", ("session",), query=about()),
    Route(
        "POST",
        f"{SESSION}/transcript",
        ("session",),
        query=about(format="claude-code"),
        lowest=WRITER,
        is_users_own=True,
        is_raw=True,
    ),
    Route("GET", f"{SESSION}/transcript", ("session",), query=about(), is_private=True),
    *(
        Route("GET", f"{SESSION}/{name}", ("session",), query=about(), is_private=True)
        for name in ("compaction", "summaries", "review", "capabilities", "memory-tool")
    ),
    Route("POST", f"{SESSION}/assemble", ("session",), about(), is_private=True),
    Route(
        "POST",
        f"{SESSION}/search",
        ("session",),
        about(query="harbour script"),
        is_private=True,
    ),
    *(
        Route(
            "POST",
            f"{SESSION}/{name}",
            ("session",),
            about(),
            lowest=WRITER,
            is_private=True,
            is_users_own=name != "snapshot",
        )
        for name in ("compact", "snapshot", "snapshot/advance")
    ),
    Route(
        "POST",
        f"{SESSION}/memory-tool",
        ("session",),
        about(action="status"),
        lowest=WRITER,
        is_private=True,
    ),
    Route("GET", SUMMARY, ("summary",), is_private=True),
    Route("GET", f"{SUMMARY}/expand", ("summary",), is_private=True),
    *(
        Route(
            "GET",
            f"{AGENT_MEMORY}/{name}",
            query=about(agent_id="a1", user_id=("user",)),
            is_private=True,
        )
        for name in ("profile", "soul", "constraints", "changes")
    ),
    *(
        Route(
            "PUT",
            f"{AGENT_MEMORY}/{name}",
            body=about(agent_id="a1", user_id=("user",), text="Likes Go"),
            lowest=WRITER,
            is_users_own=True,
            is_private=True,
        )
        for name in ("profile", "soul")
    ),
    Route(
        "POST",
        f"{AGENT_MEMORY}/constraints",
        body=about(agent_id="a1", user_id=("user",), text="Never push to main."),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "DELETE",
        f"{AGENT_MEMORY}/constraints/<str:constraint_id>",
        ("constraint",),
        query=about(agent_id="a1", user_id=("user",)),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "POST",
        f"{AGENT_MEMORY}/changes",
        body=about(agent_id="a1", user_id=("user",), scope="skill", action="create"),
        lowest=WRITER,
        is_private=True,
    ),
    Route(
        "POST",
        f"{AGENT_MEMORY}/rollback",
        body=about(agent_id="a1", user_id=("user",), scope="profile", version=1),
        lowest=CURATOR,
        is_private=True,
    ),
    Route(
        "GET",
        f"{V1}/users/<path:user_id>/memory",
        ("user",),
        query=about(),
        is_private=True,
    ),
    Route(
        "PATCH",
        f"{V1}/users/<path:user_id>/memory",
        ("user",),
        body=about(enabled=False),
        lowest=WRITER,
        is_private=True,
        is_users_own=True,
    ),
    # Facts, episodes and conversations
    Route(
        "POST",
        f"{V1}/facts",
        body=about(content="The harbour has three locks", user=("user",)),
        lowest=WRITER,
        is_private=True,
    ),
    Route("GET", f"{V1}/facts/<uuid:fact_id>", ("fact",), is_private=True),
    Route(
        "DELETE",
        f"{V1}/facts/<uuid:fact_id>",
        ("fact",),
        lowest=WRITER,
        is_private=True,
    ),
    Route(
        "POST",
        f"{V1}/episodes",
        body=about(goal="Open the third lock", user=("user",)),
        lowest=WRITER,
        is_private=True,
    ),
    Route("GET", f"{V1}/episodes/<uuid:episode_id>", ("episode",), is_private=True),
    Route(
        "DELETE",
        f"{V1}/episodes/<uuid:episode_id>",
        ("episode",),
        lowest=WRITER,
        is_private=True,
    ),
    *(
        Route(
            "POST",
            f"{V1}/{path}",
            body=about(query="harbour locks", user=("user",)),
            is_private=True,
        )
        for path in ("facts/retrieve", "episodes/retrieve", "episodes/search")
    ),
    Route(
        "GET",
        CONVERSATION,
        ("conversation",),
        query=about(user=("user",)),
        is_private=True,
    ),
    Route(
        "PATCH",
        CONVERSATION,
        ("conversation",),
        body=about(user=("user",), metadata={"a": 1}),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route(
        "DELETE",
        CONVERSATION,
        ("conversation",),
        query=about(user=("user",)),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route(
        "POST",
        f"{CONVERSATION}/invocations",
        ("conversation",),
        body=about(user=("user",), query="Is the lock open?"),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    Route(
        "POST",
        f"{CONVERSATION}/end",
        ("conversation",),
        body=about(user=("user",)),
        lowest=WRITER,
        is_users_own=True,
        is_private=True,
    ),
    # Tools of agents
    Route("GET", TOOLS, query=about()),
    Route("POST", TOOLS, body=about(name="another", **TOOL_BODY), lowest=OWNER),
    Route("GET", TOOL, ("tool",), query=about()),
    Route("PUT", TOOL, ("tool",), about(**TOOL_BODY), lowest=OWNER),
    Route("DELETE", TOOL, ("tool",), query=about(), lowest=OWNER),
    # What the agent is given, and its settings
    Route(
        "POST",
        f"{V1}/context/invocation",
        body=about(
            question="Is the harbour lock open?",
            user=("user",),
            conversation_id=("conversation",),
        ),
        is_private=True,
    ),
    # The agent and its runs; without a model, a run fails with its first turn.
    Route(
        "POST",
        f"{V1}/agents/react-mem",
        body=about(
            question="Is the harbour lock open?",
            user=("user",),
            conversation_id="another",
            enable_memory=True,
        ),
        lowest=WRITER,
        is_private=True,
    ),
    Route("GET", AGENT_RUNS, query=about()),
    Route("GET", AGENT_RUN, ("agent_run",), is_private=True),
    Route("GET", f"{AGENT_RUN}/events", ("agent_run",), is_private=True),
    Route(
        "POST",
        f"{AGENT_RUN}/confirm",
        ("agent_run",),
        filled(allow=False),
        lowest=WRITER,
        is_private=True,
    ),
    Route("DELETE", AGENT_RUN, ("agent_run",), lowest=WRITER, is_private=True),
    Route("GET", f"{V1}/agents/config", query=about()),
    Route(
        "PUT",
        f"{V1}/agents/config",
        body=about(protocol="tools"),
        lowest=OWNER,
    ),
    # What every known caller may read
    Route("GET", "api/schema", lowest=None, stranger=200),
    Route("GET", "api/docs", lowest=None, stranger=200),
]
