"""A store of the contract whose verbs are requests of the API."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from common import errors
from conversations.agent_memory.snapshots import SessionSnapshot
from conversations.compaction.compact import CompactionResult
from conversations.formats.message import ChatMessage
from conversations.messages.explore import DescribeResult, ExpandResult
from conversations.session_search.search import SessionHit
from conversations.sessions.stats import SessionStats
from conversations.stores.contract import ChangeEntry, ConstraintEntry, SessionInfo


class HttpStore:
    """Every capability, over HTTP."""

    name = "http"

    def __init__(self, client, project):
        self.client, self.project = client, str(project.pk)

    def _ask(self, method, path, **fields):
        fields = {"project_id": self.project, **fields}
        url = f"/api/v1/{path}"
        if method == "get":
            answer = self.client.get(url, fields)
        elif method == "delete":
            query = "&".join(f"{name}={value}" for name, value in fields.items())
            answer = self.client.delete(f"{url}?{query}")
        else:
            answer = getattr(self.client, method)(url, fields, format="json")
        body = answer.json()
        if answer.status_code >= 400:
            raise errors.Refusal(f"{answer.status_code} {body['code']}")
        return body

    # Provider

    def bootstrap(self, session):
        self._ask(
            "post",
            "sessions",
            key=session.id,
            agent_id=session.agent_id,
            user_id=session.user_id,
            channel=session.channel,
        )

    def append(self, session, *messages):
        sent = [
            {"role": each.role, "parts": list(each.parts), "metadata": each.metadata}
            | ({"created_at": each.created_at.isoformat()} if each.created_at else {})
            for each in messages
        ]
        self._ask("post", f"sessions/{session.id}/messages", messages=sent)

    def assemble(self, session, budget, fresh_tail):
        found = self._ask(
            "post",
            f"sessions/{session.id}/assemble",
            token_budget=budget,
            fresh_tail=fresh_tail,
        )
        return [_message(each) for each in found["messages"]]

    def stats(self, session):
        return SessionStats(**self._ask("get", f"sessions/{session.id}/stats"))

    def close(self):
        pass

    # Compactor

    def needs_compaction(self, session, threshold):
        path = f"sessions/{session.id}/compaction"
        return self._ask("get", path, threshold=threshold)["needed"]

    def compact(self, session, mode):
        path = f"sessions/{session.id}/compact"
        return CompactionResult(**self._ask("post", path, mode=str(mode)))

    # Searcher and Explorer

    def search(self, session, query):
        found = self._ask(
            "post",
            f"sessions/{session.id}/search",
            query=query.text,
            scope=query.scope,
            limit=query.limit or 20,
        )
        names = SessionHit.__dataclass_fields__
        return [
            SessionHit(
                **{"session_id": None}
                | {name: value for name, value in hit.items() if name in names}
            )
            for hit in found["results"]
        ]

    def describe(self, summary_id):
        return DescribeResult(**self._summary(summary_id))

    def expand(self, summary_id, token_cap=4_000):
        found = self._summary(f"{summary_id}/expand", token_cap=token_cap)
        names = ExpandResult.__dataclass_fields__
        return ExpandResult(**{n: value for n, value in found.items() if n in names})

    def _summary(self, path, **query):
        answer = self.client.get(f"/api/v1/summaries/{path}", query)
        if answer.status_code >= 400:
            raise errors.NotFound(answer.json()["detail"])
        return answer.json()

    # ProfileStore, ConstraintStore and their versions

    def get_profile(self, user_id, agent_id):
        return self._text("profile", user_id, agent_id, 0)

    def get_profile_at(self, user_id, agent_id, version):
        return self._text("profile", user_id, agent_id, version)

    def get_agent_soul(self, user_id, agent_id):
        return self._text("soul", user_id, agent_id, 0)

    def get_agent_soul_at(self, user_id, agent_id, version):
        return self._text("soul", user_id, agent_id, version)

    def _text(self, scope, user_id, agent_id, version):
        pair = {"user_id": user_id, "agent_id": agent_id, "version": version}
        return self._ask("get", f"agent-memory/{scope}", **pair)["text"]

    def set_profile(self, user_id, agent_id, content):
        pair = {"user_id": user_id, "agent_id": agent_id}
        self._ask("put", "agent-memory/profile", text=content, **pair)

    def set_agent_soul(self, user_id, agent_id, content):
        pair = {"user_id": user_id, "agent_id": agent_id}
        self._ask("put", "agent-memory/soul", text=content, **pair)

    def get_constraints(self, user_id, agent_id):
        return self.get_constraints_at(user_id, agent_id, 0)

    def get_constraints_at(self, user_id, agent_id, version):
        pair = {"user_id": user_id, "agent_id": agent_id, "version": version}
        return _constraints(self._ask("get", "agent-memory/constraints", **pair))

    def add_constraint(self, user_id, agent_id, text):
        pair = {"user_id": user_id, "agent_id": agent_id}
        found = self._ask("post", "agent-memory/constraints", text=text, **pair)
        return _constraints(found)

    def remove_constraint(self, user_id, agent_id, constraint_id):
        pair = {"user_id": user_id, "agent_id": agent_id}
        path = f"agent-memory/constraints/{constraint_id}"
        return _constraints(self._ask("delete", path, **pair))

    # Changelog and snapshots

    def read_changelog(self, user_id, agent_id, scope="", limit=10):
        query = {"user_id": user_id, "agent_id": agent_id, "limit": limit}
        if scope:
            query["scope"] = scope
        found = self._ask("get", "agent-memory/changes", **query)["results"]
        return [
            ChangeEntry(
                user_id=each["user_id"],
                agent_id=each["agent_id"],
                scope=each["scope"],
                action=each["action"],
                source=each["source"],
                memory_version_before=each["version_before"],
                memory_version_after=each["version_after"],
                before_text=each["before_text"],
                after_text=each["after_text"],
                id=each["id"],
            )
            for each in found
        ]

    def write_changelog(self, entry):
        sent = asdict(entry)
        names = ("user_id", "agent_id", "scope", "action", "source")
        texts = {"before_text": entry.before_text, "after_text": entry.after_text}
        self._ask(
            "post", "agent-memory/changes", **{n: sent[n] for n in names}, **texts
        )

    def get_or_create_session_snapshot(self, session_id, user_id, agent_id):
        return SessionSnapshot(**self._ask("post", f"sessions/{session_id}/snapshot"))

    def advance_session_snapshot(self, session_id, user_id, agent_id):
        self._ask("post", f"sessions/{session_id}/snapshot/advance")

    # SessionManager and Reviewer

    def save_info(self, info):
        changes = {"title": info.title, "archived": info.archived}
        self._ask("patch", f"sessions/{info.id}", **changes)

    def load_info(self, session_id):
        return _info(self._ask("get", f"sessions/{session_id}"))

    def list_info(self, options):
        found = self._ask("get", "sessions", agent_id=options.agent_id, limit=0)
        return list(map(_info, found["results"]))

    def load_history(self, session_id):
        found = self._ask("get", f"sessions/{session_id}/messages", limit=1_000)
        return [_message(each) for each in found["results"]]

    def build_review_context(self, session, since=None):
        query = {"since": since.isoformat()} if since else {}
        return self._ask("get", f"sessions/{session.id}/review", **query)["text"]


def _message(each):
    return ChatMessage(each["role"], tuple(each["parts"]))


def _constraints(found):
    return [ConstraintEntry(**each) for each in found["constraints"]]


def _info(each):
    return SessionInfo(
        id=each["key"],
        agent_id=each["agent_id"],
        user_id=each["user_id"],
        channel=each["channel"],
        title=each["title"],
        created_at=datetime.fromisoformat(each["created_at"]),
        last_active=datetime.fromisoformat(each["last_active"]),
        archived=each["archived"],
    )
