"""One of everything in a project, with one word in every text that can be hidden."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import transaction

from ace.models import AceRun, ModelReflection, TaskFile
from agents.models import AgentRun, AgentTool
from common.caller import Role
from jobs import runner
from jobs.models import Job
from memories.models import DuplicateFinding, Memory, PossibleDuplicate, Purge
from playbook.models import PlaybookDelta
from projects.models import Organization, Project

API = "/api/v1"
# A stem of itself, and a word that nothing else in the service writes.
MARK = "quokkazed"


@dataclass
class World:
    """What was stored, by the names that the table of routes uses."""

    project: Project
    mark: str
    ids: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> str:
        try:
            return str(self.ids[name])
        except KeyError:
            raise AttributeError(name) from None


def fresh(world):
    """Return a world as its rows are now, which a test may change."""
    project = Project.objects.get(pk=world.project.pk)
    return World(project, world.mark, dict(world.ids))


class Undo(Exception):
    pass


@contextmanager
def undone():
    """Roll back everything that the block writes."""
    with suppress(Undo), transaction.atomic():
        yield
        raise Undo


def posted(api, path, body, status=(200, 201, 202)):
    answer = api.post(f"{API}/{path}", body)
    assert answer.status_code in status, (path, answer.status_code, answer.content)
    return answer.json()


def remember(api, project, text, mark, **more):
    """Store a memory with the word in every text field."""
    body = {
        "project_id": str(project.pk),
        "memory_type": "learning",
        "content": text,
        **dict.fromkeys(("title", "goal", "result", "feedback", "lessons"), mark),
        "outcome": f"{mark} went well",
        "steps": [mark],
        "tags": [f"{mark}-tag", f"{mark}-two"],
        "file_paths": [f"src/{mark}.py", f"lib/{mark}_two.py"],
        "metadata": {mark: [mark]},
        "provenance": {"channel": mark},
        "value": {mark: mark},
        "tool_usage": [{mark: mark}],
        "created_in_session_id": mark,
        **more,
    }
    return posted(api, "memories", body)["id"]


def private_part(api, project, mark, **more):
    """Rows of one scope: memories, a pair, a finding, a tag, files, a delta."""

    def store(text, **fields):
        return remember(api, project, f"{mark} {text}", mark, **{**more, **fields})

    found = {"memory": store("deploys with the blue script of the harbour")}
    found["duplicate"] = store("deploys with the blue script of the harbour")
    found["other"] = store("runs its tests at night in a green room")
    found["deleted"] = store("was thrown away, and may come back some day")
    found["sensitive"] = store("hides the safe behind a wall", sensitivity="sensitive")
    api.delete(f"{API}/memories/{found['deleted']}")
    merged = {"source_ids": [found["other"]], "content": f"{mark} was made shorter"}
    merged["target_scope"] = more.get("scope")
    found["compacted"] = posted(
        api, "memories/compact", {"project_id": str(project.pk), **merged}
    )["id"]
    pair = {"memory_id": found["other"], "other_id": found["memory"]}
    found["pair"] = PossibleDuplicate.objects.create(
        project=project, similarity=0.96, why_not_merged=mark, **pair
    ).pk
    found["file"], found["file_two"] = f"src/{mark}.py", f"lib/{mark}_two.py"
    tags = api.get(f"{API}/tags", {"project_id": str(project.pk), "q": mark}).json()
    for tag in tags["results"]:
        found["tag" if tag["name"].endswith("-tag") else "tag_two"] = tag["id"]
    text = Memory.objects.light().get(pk=found["memory"]).content
    quote = {"field": "content", "start": 0, "end": len(text), "quote": text}
    proposal = {
        "project_id": str(project.pk),
        "operation": "add",
        "category": "gotchas",
        "memory_id": found["memory"],
        "evidence": [quote],
        "reason": mark,
    }
    found["delta"] = waiting(
        api, proposal | {"content": f"When the {mark} deploys, run `blue.sh` instead."}
    )
    user = (more.get("scope") or {}).get("user_id", "u1")
    found |= private_tiers(api, project, mark, user)
    return found | private_sessions(api, project, mark, user)


def private_tiers(api, project, mark, user):
    """A fact, an episode and a conversation of a user."""
    about = {"project_id": str(project.pk), "user": user, "metadata": {mark: mark}}
    about |= {"source": mark}
    fact = posted(
        api, "facts", about | {"content": f"The {mark} harbour has two locks"}
    )
    task = {name: f"{mark} {name}" for name in ("goal", "outcome", "lessons")}
    episode = posted(api, "episodes", about | task | {"steps": [mark], "tags": [mark]})
    said = {name: f"{mark} {name}" for name in ("query", "summary", "result")}
    named = {"project_id": str(project.pk), "user": user}
    talk = f"{API}/conversations/talk"
    posted(api, "conversations/talk/invocations", named | said)
    api.patch(talk, named | {"metadata": {mark: mark}})
    found = api.get(talk, named).json()["conversation"]
    return {
        "fact": fact["fact_id"],
        "episode": episode["episode_id"],
        "conversation": found["session_id"],
        "invocation": found["invocations"][0]["id"],
        "agent_run": an_agent_run(project, mark, user, found["session_id"]).pk,
    }


def let_agents_run(monkeypatch):
    """Let runs of the agent begin; without a model they fail with their first turn."""
    monkeypatch.setattr("agents.runs.start.require_model", lambda project: None)


def an_agent_run(project, mark, user, session_id):
    """A run of the user that waits for a confirmation."""
    call = {"thought": mark, "action": mark, "arguments": {mark: mark}, "call_id": mark}
    step = {"observation": mark, "is_error": False, "is_history": False, "took_ms": 1}
    return AgentRun.objects.create(
        project=project,
        session_id=session_id,
        conversation_id="talk",
        user_id=user,
        agent_id="react-mem",
        request={
            "question": f"Is the {mark} open?",
            "state": mark,
            "group": [mark],
            "user": user,
            "conversation_id": "talk",
            "enable_memory": True,
            "streaming": False,
            "max_iterations": None,
            "task": False,
        },
        has_memory=True,
        status=AgentRun.RunStatus.CONFIRMING,
        steps=[call | step],
        pending_call=call,
        memory={"facts": [mark]},
        learned={mark: mark},
    )


def private_sessions(api, project, mark, user="u1"):
    """A session of a user with summaries and an agent memory, and an anonymous session."""
    named = {"project_id": str(project.pk), "agent_id": "a1"}
    about = named | {"user_id": user}
    session = posted(
        api,
        "sessions",
        about | {"key": mark, "title": mark, "metadata": {mark: mark}},
    )["id"]
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"The {mark} harbour, {n}."}
        for n in range(40)
    ]
    path = f"sessions/{session}"
    posted(api, f"{path}/messages", named | {"messages": messages})
    posted(api, f"{path}/compact", {"project_id": str(project.pk), "mode": "full"})
    sent = f"{API}/{path}/transcript?project_id={project.pk}&format=claude-code"
    assert api.generic("POST", sent, b"", "text/plain").status_code == 200
    summaries = api.get(f"{API}/{path}/summaries", {"project_id": str(project.pk)})
    for name in ("profile", "soul"):
        body = about | {"text": f"Likes the {mark}"}
        assert api.put(f"{API}/agent-memory/{name}", body).status_code == 200
    listed = posted(api, "agent-memory/constraints", about | {"text": f"No {mark}"})
    return {
        "user": user,
        "session": session,
        "seq": 1,
        "summary": summaries.json()["results"][0]["id"],
        "constraint": listed["constraints"][0]["id"],
    }


def anonymous_session(api, project):
    """A session without a user, which every caller without a binding may see."""
    body = {"project_id": str(project.pk), "key": "anonymous", "agent_id": "a1"}
    return posted(api, "sessions", body)["id"]


def waiting(api, proposal):
    """Return the id of a waiting proposal."""
    made = posted(api, "proposals", proposal)["id"]
    PlaybookDelta.objects.filter(pk=made).update(status="pending")
    return made


def scanned(api, project, private):
    """A finished deduplication with one finding about the private memories."""
    body = {"project_id": str(project.pk), "threshold": 0.9}
    job = posted(api, "deduplications", body)["id"]
    runner.run(job)
    pair = {"memory_id": private["other"], "original_id": private["memory"]}
    DuplicateFinding.objects.create(
        job_id=job, project=project, similarity=0.97, **pair
    )
    return job


def a_finished_task(api, project, mark, **more):
    """Return the id of a run with the word in every reported text."""
    task = {
        "project_id": str(project.pk),
        "goal": f"Fix the {mark} build",
        "result": f"The {mark} build is green again",
        "feedback": f"{mark}: always run the linter before the build",
        "tool_usage": [
            {"tool_name": "edit_file", "arguments": {"file": mark}, "result": mark}
        ],
        **more,
    }
    return posted(api, "complete-task", task)["run_id"]


def private_task(api, project, mark, scope):
    """Return the ids of what a user's task leaves: its run, memory and proposal."""
    call = {"tool_name": "upload", "arguments": {"bucket": f"{mark} reports"}}
    repaired = [
        call
        | {"result": f"Error: bucket {mark} reports not found; buckets have slugs"},
        call | {"arguments": {"bucket": f"{mark}-reports"}, "result": "uploaded"},
    ]
    run = a_finished_task(
        api, project, mark, scope=scope, outcome="success", tool_usage=repaired
    )
    delta = PlaybookDelta.objects.filter(run_id=run).first()
    return {
        "run": run,
        "memory": AceRun.objects.get(pk=run).memory_id,
        "delta": delta.pk,
    }


def shared_part(api, project, mark):
    """Rows that every member of the project shares."""
    named = {"project_id": str(project.pk)}
    rule = f"Call the {mark} tool with `path` instead of `file`."
    entry = posted(
        api,
        "playbook/rules",
        named | {"content": rule, "reason": mark, "tags": [mark]},
    )
    run = a_finished_task(api, project, mark)
    stuck = AceRun.objects.create(
        project=project,
        agent_id=mark,
        actor=mark,
        request=AceRun.objects.get(pk=run).request,
        memory=AceRun.objects.get(pk=run).memory,
    )
    for number in range(3):  # enough for the folder to stand on the project card
        TaskFile.objects.create(
            project=project,
            run_id=run,
            path=f"{mark}/{number}.py",
            use="changed",
            session=mark,
        )
    config = {"structured": {"tags": [mark]}}
    api.put(f"{API}/context/digest-config", named | {"config": config})
    get_user_model().objects.create_user(mark)
    posted(api, f"projects/{project.pk}/members", {"username": mark, "role": "viewer"})
    issued = {"name": mark, "role": "viewer", "projects": [str(project.pk)]}
    work = {"project_id": project.pk, "error": mark, "args": {mark: mark}}
    return {
        **agent_tools(project, mark),
        "anonymous": anonymous_session(api, project),
        "entry": entry["entry"]["id"],
        "applied": entry["delta"]["id"],
        "run": run,
        "stuck": stuck.pk,
        "reflection": ModelReflection.objects.get(run=run).pk,
        "member": mark,
        "key": posted(api, "keys", issued)["id"],
        "purge": Purge.objects.create(
            project=project, selection={}, reason=mark, actor=mark
        ).pk,
        "failed_job": Job.objects.create(kind=mark, state="failed", **work).pk,
        "waiting_job": Job.objects.create(kind=mark, key=mark, **work).pk,
    }


def agent_tools(project, mark):
    """A tool, whose address is refused, so that nothing is sent."""
    AgentTool.objects.create(
        project=project,
        name=mark,
        description=mark,
        url=f"http://127.0.0.1/{mark}",
        groups=[mark],
        states=[mark],
    )
    return {"tool": mark}


def a_deleted_project(client_of, mark):
    """A deleted project that can be restored, and its owner's client."""
    group, _ = Organization.objects.get_or_create(slug="of-the-gone")
    gone = Project.objects.create(organization=group, name=f"{mark} gone")
    client_of(gone, role=Role.OWNER).delete(f"{API}/projects/{gone.pk}")
    return gone


def rows_of(project):
    """Every row of a project but its audit: {model: rows}, to be compared."""
    found = {}
    for model in apps.get_models():
        names = {field.attname for field in model._meta.concrete_fields}
        if "project_id" in names and model.__name__ != "AuditEvent":
            light = [n for n in names if n not in ("content_tsv", "content_terms")]
            rows = model._base_manager.filter(project_id=project.pk).order_by("pk")
            found[model.__name__] = list(rows.values(*sorted(light)))
    found["Project"] = list(
        Project._base_manager.filter(pk=project.pk).values()  # its settings, too
    )
    return found
