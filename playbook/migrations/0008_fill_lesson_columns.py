"""Tell what a lesson is by its columns, and hash the texts of rules as those of memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import migrations

from common.text.same_text import hash_text

BATCH = 500
# What a lesson is, by how its signature began.
KINDS = {
    **{"fact": "fact", "wish": "instruction", "advice": "instruction"},
    **{"observed": "fix", "repair": "fix", "command": "fix", "check": "check"},
    **{"correction": "answer", "confirmation": "answer"},
}
GONE = (
    *("signature", "repair_key", "supply", "foreign", "root_cause", "outcome"),
    *("tags", "applies_to"),
)


def kind_of(payload: Mapping[str, Any]) -> str:
    if payload.get("repair_key"):
        return "fix"
    if str(payload.get("action", "")).startswith("answer `"):
        return "answer"
    return KINDS.get(str(payload.get("signature", "")).partition("|")[0], "")


def fill_deltas(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("playbook", "PlaybookDelta").objects
    for delta in rows.iterator(chunk_size=BATCH):
        payload = delta.payload
        delta.kind = delta.kind or kind_of(payload)
        delta.tags = payload.get("tags", delta.tags)
        delta.applies_to = payload.get("applies_to", delta.applies_to)
        delta.payload = {n: v for n, v in payload.items() if n not in GONE}
        if delta.similarity_hash:
            proposed = delta.suggested.get("content") or delta.content
            delta.similarity_hash = hash_text(proposed)
        columns = ["kind", "tags", "applies_to", "payload", "similarity_hash"]
        delta.save(update_fields=columns)


def hash_entries(apps: Any, schema_editor: Any) -> None:
    """Hash the texts of rules; of two live ones that are now equal, the later keeps its hash."""
    rows = apps.get_model("playbook", "PlaybookEntry").objects
    live: set[tuple[Any, str]] = set()
    for entry in _hashed(rows):
        text = (entry.project_id, entry.similarity_hash)
        if entry.status != "active" or text not in live:
            live |= {text} if entry.status == "active" else set()
            rows.filter(pk=entry.pk).update(similarity_hash=entry.similarity_hash)


def _hashed(rows: Any) -> Iterator[Any]:
    columns = ("id", "project_id", "status", "content")
    for entry in rows.order_by("id").only(*columns).iterator(chunk_size=BATCH):
        entry.similarity_hash = hash_text(entry.content)
        yield entry


class Migration(migrations.Migration):
    dependencies = [("playbook", "0007_lesson_columns")]
    operations = [
        migrations.RunPython(fill_deltas, migrations.RunPython.noop),
        migrations.RunPython(hash_entries, migrations.RunPython.noop),
    ]
