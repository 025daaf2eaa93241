"""The two interfaces of the scoped store, with one way to use them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.utils import timezone

from common import errors
from memories import scoped_store
from memories.retention.compact import CompactionOptions
from memories.serializers.memories import MemoryOut

V1 = "/api/v1"


class Refused(Exception):
    def __init__(self, status, code, detail, **extra):
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code, self.detail = status, code, detail
        self.missing_ids = extra.get("missing_ids")


def dated(fields):
    """`expires_in` seconds become a moment, and so does `expires_at` as a text."""
    fields = dict(fields)
    if isinstance(fields.get("expires_at"), str):
        fields["expires_at"] = datetime.fromisoformat(fields["expires_at"])
    if "expires_in" in fields:
        seconds = timedelta(seconds=fields.pop("expires_in"))
        fields["expires_at"] = timezone.now() + seconds
    return fields


class Rest:
    """Every operation over HTTP; a memory is what the API shows of it."""

    def __init__(self, client, project):
        self.client = client
        self.project = {"project_id": str(project.pk)}

    def call(self, method, path, body=None, query=None):
        send = getattr(self.client, method)
        if query is not None:
            answer = send(f"{V1}/{path}", query)
        else:
            answer = send(f"{V1}/{path}", plain(body), format="json")
        if answer.status_code >= 400:
            told = answer.json()
            raise Refused(**told)
        return answer.json() if answer.content else None

    def write(self, scope, content, **fields):
        typed = {"memory_type": "learning", "kind": "note", **dated(fields)}
        body = {**self.project, "scope": scope, "content": content, **typed}
        return self.call("post", "memories", body)["memory"]

    def get(self, memory_id):
        try:
            return self.call("get", f"memories/{memory_id}", query={})
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def get_many(self, ids):
        query = {**self.project, "ids": ",".join(ids)}
        page = self.call("get", "memories", query=query)
        return page["results"], page["missing_ids"]

    def sources(self, memory_id):
        return self.get(memory_id)["lineage"]["sources"]

    def retrieve(self, scope, tags=(), **query):
        named = {name: key for name, key in scope.items() if name != "kind"}
        if tags:
            query["tag"] = list(tags)
        query = {**self.project, "scope": scope["kind"], **named, **query}
        return self.call("get", "memories", query=plain(query))["results"]

    def update(self, memory_id, patch):
        return self.call("patch", f"memories/{memory_id}", dated(patch))

    def delete(self, memory_id):
        self.call("delete", f"memories/{memory_id}")

    def delete_by_scope(self, scope):
        body = {**self.project, "scope": scope}
        return self.call("post", "memories/delete-by-scope", body)["deleted"]

    def promote(self, memory_id, wish):
        return self.call("post", f"memories/{memory_id}/promote", wish)["memory"]

    def compact(self, **wish):
        body = {**self.project, **dated(wish)}
        return self.call("post", "memories/compact", body)["memory"]

    def rehearse_compaction(self, **wish):
        return self.compact(**wish, dry_run=True)


class InProcess:
    """Every operation through `memories.scoped_store`."""

    def __init__(self, caller, project):
        self.store = scoped_store.ScopedStore(project, caller)

    def shown(self, memory):
        return MemoryOut(memory).data

    def attempt(self, operation, *args, **fields):
        try:
            return operation(*args, **fields)
        except errors.Refusal as refusal:
            raise Refused(
                refusal.status, refusal.code, refusal.detail, **refusal.extra
            ) from refusal

    def write(self, scope, content, **fields):
        typed = {"memory_type": "learning", **dated(fields)}
        return self.shown(self.attempt(self.store.write, scope, content, **typed))

    def get(self, memory_id):
        found = self.store.get(uuid.UUID(memory_id))
        return self.shown(found) if found else None

    def get_many(self, ids):
        found = {memory_id: self.get(memory_id) for memory_id in ids}
        shown = [answer for answer in found.values() if answer]
        return shown, [memory_id for memory_id, answer in found.items() if not answer]

    def sources(self, memory_id):
        return [str(pk) for pk in self.store.source_ids(uuid.UUID(memory_id))]

    def retrieve(self, scope, **fields):
        wanted = scoped_store.ScopedQuery(scope, **fields)
        return [self.shown(one) for one in self.store.retrieve(wanted)]

    def update(self, memory_id, patch):
        made = self.attempt(self.store.update, uuid.UUID(memory_id), dated(patch))
        return self.shown(made)

    def delete(self, memory_id):
        self.store.delete(uuid.UUID(memory_id))

    def delete_by_scope(self, scope):
        return self.store.delete_by_scope(scope)

    def promote(self, memory_id, wish):
        wish = dict(wish)
        target = wish.pop("target_scope")
        made = self.attempt(self.store.promote, uuid.UUID(memory_id), target, **wish)
        return self.shown(made)

    def compact(self, **wish):
        return self._compact(self.store.compact, **wish)

    def rehearse_compaction(self, **wish):
        return self._compact(self.store.rehearse_compaction, **wish)

    def _compact(self, compact, source_ids, content, target_scope=None, **wish):
        made = self.attempt(
            compact,
            [uuid.UUID(pk) for pk in source_ids],
            target_scope,
            lambda sources: content,
            CompactionOptions(**dated(wish)),
        )
        return self.shown(made)


def plain(value):
    """As JSON and query strings hold it."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
