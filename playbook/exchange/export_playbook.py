"""Export a playbook as text. The same rows always give the same bytes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from common.caller import Caller, Role
from playbook.exchange import ace_format, json_format, managed_block, skill_folder
from playbook.exchange.ace_format import RuleLine
from playbook.history.operations import IMPORTED_COLUMNS, SETTABLE_COLUMNS
from playbook.history.revision import LATER_COLUMNS, SUPPORTS, EntryValues
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.reading import renderer
from projects.models import Project

Format = Literal["ace", "json", "agents-md", "skills"]
FORMATS = ("ace", "json", "agents-md", "skills")
MEDIA_TYPES = {
    "ace": "text/plain; charset=utf-8",
    "json": "application/json",
    "agents-md": "text/markdown; charset=utf-8",
    "skills": "application/json",
}
# Keys of a delta's payload to export. The other keys refer to rows of this project.
EXPORTED_PAYLOAD = {
    *SETTABLE_COLUMNS,
    *IMPORTED_COLUMNS,
    *("vote", "root_cause", "signature", "feedback_source", "outcome", "origin"),
}


def export_text(project: Project, caller: Caller, *, format: Format) -> str:
    """Export as ACE lines, JSON with history, a managed block, or a folder of skills."""
    caller.require(Role.VIEWER, project.pk)
    formats = {"ace": _ace, "json": _json, "agents-md": _block, "skills": _skills}
    return formats[format](project, caller)


def _ace(project: Project, caller: Caller) -> str:
    """Format every active entry, grouped by section."""
    return format_ace(_by_section(project, _live(project, caller)))


def format_ace(entries: Iterable[PlaybookEntry]) -> str:
    return ace_format.format(
        RuleLine(
            entry.label,
            entry.content,
            helpful=entry.helpful,
            harmful=entry.harmful,
            section=entry.category,
        )
        for entry in entries
    )


def _block(project: Project, caller: Caller) -> str:
    """Format a managed block of whole lines that fit within the token budget for agents."""
    live = _live(project, caller)
    budget = project.options.budgets.render_tokens
    fitting = renderer.fit_budget(
        renderer.sort_entries(live, renderer.TaskFit()), budget
    )
    body = managed_block.format_entries(_by_section(project, fitting))
    if left_out := len(live) - len(fitting):
        body += f"\n<!-- {left_out} more in the service: no room for them here. -->\n"
    return managed_block.block(body)


def _skills(project: Project, caller: Caller) -> str:
    entries = _by_section(project, _live(project, caller))
    return skill_folder.write(project, entries)


def _live(project: Project, caller: Caller) -> list[PlaybookEntry]:
    rows = PlaybookEntry.objects.visible_to(caller).filter(project=project)
    return list(rows.current().light())


def _by_section(
    project: Project, entries: Sequence[PlaybookEntry]
) -> list[PlaybookEntry]:
    """Sort by the project's order of categories, then by the number in the label."""
    order = {name: place for place, name in enumerate(project.options.categories)}

    def key(entry: PlaybookEntry) -> tuple[int, str, int, str]:
        place = order.get(entry.category, len(order))
        return place, entry.category, _number(entry.label), entry.label

    return sorted(entries, key=key)


def _number(label: str) -> int:
    digits = label.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def _json(project: Project, caller: Caller) -> str:
    rows = Playbook.objects.visible_to(caller).filter(project=project)
    playbook = rows.first() or Playbook(project=project)
    history = ExportedHistory(project, playbook.revision, caller)
    head = {
        "format": json_format.FORMAT,
        "version": json_format.VERSION,
        "revision": playbook.revision,
        "next_label": playbook.next_label,
    }
    changes, deltas = history.change_rows(), history.deltas()
    lists = {"entries": history.entries(changes), "changes": changes, "deltas": deltas}
    return json_format.write(head, lists)


class ExportedHistory:
    """The changes up to a revision, with labels and numbers instead of ids.

    The history contains no memories, because memories belong to the project (decision
    0012).
    """

    def __init__(self, project: Project, revision: int, caller: Caller) -> None:
        self.project, self.caller = project, caller
        rows = PlaybookChange.objects.visible_to(caller).filter(project_id=project.pk)
        self.changes = list(rows.filter(revision__lte=revision).in_order())
        self.labels = {str(c.entry_id): c.entry_label for c in self.changes}
        self.places = {c.pk: (c.revision, c.position) for c in self.changes}
        self.numbers = _number_ids(change.delta_id for change in self.changes)
        self.runs = _number_ids(change.run_id for change in self.changes)

    def change_rows(self) -> list[dict[str, Any]]:
        return [self._change(change) for change in self.changes]

    def _change(self, change: PlaybookChange) -> dict[str, Any]:
        place = self.places.get(change.reverts_id) if change.reverts_id else None
        return {
            "revision": change.revision,
            "position": change.position,
            "operation": change.operation,
            "action": change.action,
            "entry": change.entry_label,
            "before": self._columns(change.before),
            "after": self._columns(change.after),
            "actor": change.actor,
            "agent_id": change.agent_id,
            "reason": change.reason,
            "delta": self.numbers.get(change.delta_id),
            "run": self.runs.get(change.run_id),
            "reverts": dict(zip(("revision", "position"), place, strict=True))
            if place
            else None,
            "request_id": change.request_id,
            "changed_at": change.changed_at.isoformat(),
        }

    def _columns(self, state: EntryValues) -> EntryValues:
        columns = {name: value for name, value in state.items() if name != SUPPORTS}
        if "superseded_by_id" in columns:
            columns["superseded_by"] = self.labels.get(columns.pop("superseded_by_id"))
        if "merged_from" in columns:
            labels = [self.labels.get(pk) for pk in columns["merged_from"]]
            columns["merged_from"] = [label for label in labels if label]
        return columns

    def entries(self, changes: Sequence[Mapping[str, Any]]) -> list[EntryValues]:
        """Return the entries, built from the changes.

        A concurrent write can therefore not make the entries differ from the changes.
        """
        states: dict[str, EntryValues] = {}
        for change in changes:
            state = states.setdefault(change["entry"], {**LATER_COLUMNS})
            state.update(change["after"])
        return sorted(states.values(), key=lambda s: (_number(s["label"]), s["label"]))

    def deltas(self) -> list[dict[str, Any]]:
        ids = [pk for pk in self.numbers if pk]
        rows = PlaybookDelta.objects.visible_to(self.caller).filter(
            project=self.project, status__in=[*PlaybookDelta.IN_FORCE, "reverted"]
        )
        found = rows.in_bulk(ids)
        return [self._delta(found[pk]) for pk in ids if pk in found]

    def _delta(self, delta: PlaybookDelta) -> dict[str, Any]:
        plain = (
            *("operation", "status", "expected_version", "content", "category"),
            *("reason", "gates", "risk", "producer", "producer_name"),
            *("producer_version", "proposed_by", "agent_id", "reviewer"),
            *("review_note", "version"),
        )
        targets = [
            {
                "entry": self.labels.get(str(target["id"])),
                "version": target.get("version"),
            }
            for target in delta.targets
        ]
        return {
            **{name: getattr(delta, name) for name in plain},
            "number": self.numbers[delta.pk],
            "entry": self.labels.get(str(delta.entry_id)),
            "targets": [target for target in targets if target["entry"]],
            "payload": {
                n: v for n, v in delta.payload.items() if n in EXPORTED_PAYLOAD
            },
            "run": self.runs.get(delta.run_id),
            "reviewed_at": delta.reviewed_at and delta.reviewed_at.isoformat(),
            "created_at": delta.created_at.isoformat(),
        }


def _number_ids(ids: Iterator[uuid.UUID | None]) -> dict[uuid.UUID | None, int]:
    """Give each id a number, in the order in which the ids appear."""
    first = dict.fromkeys(pk for pk in ids if pk)
    return {pk: number for number, pk in enumerate(first, start=1)}
