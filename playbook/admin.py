from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from unfold.decorators import display

from audit import admin as audit_admin
from common import errors, panels
from common.admin import RowsAdmin, caller_of
from common.caller import Caller, Role
from common.deeds import Deed
from common.list_filters import (
    DaysFilter,
    ProjectFilter,
    TagFilter,
    chosen,
    exactly,
)
from common.panels import IN_PANEL, Panel, link, moment, words
from memories.admin import OfMemory, in_order
from playbook import asking, curation, undoing
from playbook.drafts import WRITES_TEXT, Operation, Producer, Proposal
from playbook.forms import EntryForm
from playbook.models import (
    Conflict,
    EntryVector,
    Exposure,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    Support,
)

ENTRY = "playbook_playbookentry"
DELTA = "playbook_playbookdelta"
RUN = "ace_acerun"
MEMORY = "memories_memory"
STATUSES = {
    "active": "success",
    "deprecated": "warning",
    "superseded": "info",
    "deleted": "danger",
}
DECISIONS = {
    "pending": "warning",
    "applied": "success",
    "accepted": "success",
    "edited": "success",
    "rejected": "danger",
    "reverted": "info",
    "stale": "default",
}
# Why a curator says no (design 05, "Review inbox").
REASONS = ("wrong", "duplicate", "too vague", "one-off", "unsafe", "other")
RISKS = {"low": "success", "medium": "warning", "high": "danger"}


def delta_lines(deltas: Iterable[PlaybookDelta]) -> Iterable[list[Any]]:
    for delta in deltas:
        yield [
            moment(delta.created_at),
            link(DELTA, delta.pk, delta.operation),
            words(delta.content or delta.reason, IN_PANEL),
            delta.producer,
            delta.status,
        ]


def change_lines(changes: Iterable[PlaybookChange]) -> Iterable[list[Any]]:
    for change in changes:
        yield [
            change.revision,
            moment(change.changed_at),
            link("playbook_playbookchange", change.pk, change.action),
            words(change.entry_label, 40),
            words(change.actor, 60),
            panels.difference(change.before, change.after),
            words(change.reason, 200),
        ]


CHANGE_HEAD = ["Revision", "When", "What", "Entry", "Who", "Change", "Why"]


def history_of(changes: Any, *, most: int = panels.ROWS) -> Panel:
    return panels.table(
        "History", CHANGE_HEAD, change_lines(changes[: most + 1]), most=most
    )


def _remove(entry: PlaybookEntry, caller: Caller, typed: str) -> PlaybookDelta:
    wanted = curation.removal(entry, caller, reason=typed, version=entry.version)
    return curation.edit(entry.project, wanted, caller)


def _restore(entry: PlaybookEntry, caller: Caller, typed: str) -> PlaybookDelta:
    wanted = Proposal(
        operation=Operation.RESTORE,
        entry=entry,
        expected_version=entry.version,
        reason=typed,
        producer=Producer.HUMAN,
        producer_name=caller.name,
        feedback_source="human",
    )
    return curation.edit(entry.project, wanted, caller)


@admin.register(PlaybookEntry)
class PlaybookEntryAdmin(RowsAdmin):
    form = EntryForm
    adds = changes = Role.CURATOR
    list_display = [
        "label",
        "text",
        "category",
        "status_shown",
        "votes",
        "project_name",
        "verified_shown",
    ]
    list_filter = [
        ProjectFilter,
        chosen("status", PlaybookEntry.Status.choices),
        exactly("category"),
        TagFilter,
        chosen("author_kind", PlaybookEntry.Author.choices, "author"),
        chosen("locked", [(1, "yes"), (0, "no")]),
        chosen("pinned", [(1, "yes"), (0, "no")]),
        ("updated_at", DaysFilter),
    ]
    search_fields = ["content"]
    search_help_text = "Search by words and meaning, or a label"
    readonly_fields = [
        "label",
        "content_shown",
        "condition_shown",
        "action_shown",
        "project_name",
        "tags_shown",
        "aliases",
        "status_shown",
        "votes",
        "confidence_shown",
        "author_kind",
        "superseded_by",
        "id",
        "created_at",
        "created_by",
        "updated_at",
        "verified_shown",
    ]
    add_fieldsets = [
        (None, {"fields": ["project", "content", "category", "condition", "action"]}),
        ("Place", {"fields": ["tags", "priority", "pinned", "locked", "review_after"]}),
        ("Record", {"fields": ["reason"]}),
    ]
    deeds = [
        Deed(
            "delete",
            "Delete",
            Role.CURATOR,
            _remove,
            "deleted",
            fits=lambda entry: entry.status != PlaybookEntry.Status.DELETED,
            asks="Why",
            is_final=True,
        ),
        Deed(
            "restore",
            "Restore",
            Role.CURATOR,
            _restore,
            "active again",
            fits=lambda entry: entry.status != PlaybookEntry.Status.ACTIVE,
            asks="Why",
        ),
    ]

    content_shown = staticmethod(
        panels.column("content", panels.block, title="content")
    )
    condition_shown = staticmethod(
        panels.column("condition", panels.block, title="condition")
    )
    action_shown = staticmethod(panels.column("action", panels.block, title="action"))
    tags_shown = staticmethod(panels.column("tags", panels.tags, title="tags"))
    verified_shown = staticmethod(
        panels.column("verified_at", moment, title="confirmed", ordering="verified_at")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).light()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return self.add_fieldsets
        edits = self.has_change_permission(request, obj)
        told = ["content", "condition", "action", "tags"]
        texts = told if edits else [f"{name}_shown" for name in told]
        asked = ["reason", "version"] if edits else []
        return [
            (None, {"fields": ["label", *texts, "category", *asked]}),
            (
                "Standing",
                {
                    "fields": [
                        "status_shown",
                        "votes",
                        "confidence_shown",
                        "author_kind",
                    ]
                },
            ),
            (
                "Place",
                {
                    "fields": [
                        "project_name",
                        "priority",
                        "pinned",
                        "locked",
                        "review_after",
                    ]
                },
            ),
            (
                "Record",
                {
                    "fields": [
                        "id",
                        "aliases",
                        "superseded_by",
                        "created_at",
                        "created_by",
                        "updated_at",
                        "verified_shown",
                    ],
                    "classes": ["tab"],
                },
            ),
        ]

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return _to_what_became(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return _to_what_became(request, obj)

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        if not search_term.strip():
            return queryset, False
        try:
            ids = asking.search_everywhere(
                search_term, queryset, request.GET, caller_of(request)
            )
        except errors.Refusal as refusal:
            messages.warning(request, refusal.detail)
            return queryset.none(), False
        return in_order(queryset, ids), False

    @admin.display(description="rule")
    def text(self, entry: PlaybookEntry) -> SafeString:
        return words(entry.content, 160)

    @display(description="status", label=STATUSES, ordering="status")
    def status_shown(self, entry: PlaybookEntry) -> str:
        return entry.status

    @admin.display(description="helpful / harmful / neutral", ordering="-helpful")
    def votes(self, entry: PlaybookEntry) -> str:
        return f"{entry.helpful} / {entry.harmful} / {entry.neutral}"

    @admin.display(description="confidence")
    def confidence_shown(self, entry: PlaybookEntry) -> str:
        return f"{entry.confidence:.2f}"

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        yield self._supports(row)
        deltas = PlaybookDelta.objects.visible_to(caller).filter(entry=row)
        yield panels.table(
            "Proposed and decided",
            ["When", "What", "Text", "Producer", "Status"],
            delta_lines(deltas[: panels.ROWS + 1]),
        )
        changes = PlaybookChange.objects.visible_to(caller).filter(entry_id=row.pk)
        yield history_of(changes, most=10)

    def past(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        changes = PlaybookChange.objects.visible_to(caller).filter(entry_id=row.pk)
        yield history_of(changes, most=200)
        yield audit_admin.of(row.pk, caller)

    @staticmethod
    def _supports(entry: PlaybookEntry) -> Panel:
        supports = entry.supports.select_related("memory").defer(
            "memory__content_tsv", "memory__content_terms"
        )
        return panels.table(
            "Memories that speak for it",
            ["Memory", "Type", "Since"],
            (
                [
                    link(MEMORY, support.memory_id, support.memory),
                    support.memory.get_memory_type_display(),
                    moment(support.created_at),
                ]
                for support in supports[: panels.ROWS + 1]
            ),
            empty="None.",
        )


def _to_what_became(request: HttpRequest, delta: PlaybookDelta) -> HttpResponse:
    """Go to the entry of a change that was applied, else to the change that waits."""
    if delta.status in PlaybookDelta.IN_FORCE:
        messages.success(request, "The playbook was changed.")
        return redirect(f"admin:{ENTRY}_change", delta.entry_id)
    messages.warning(request, f"The change is {delta.status}. {delta.review_note}")
    return redirect(f"admin:{DELTA}_change", delta.pk)


def _edit(delta: PlaybookDelta, caller: Caller, typed: str) -> PlaybookDelta:
    return curation.edit_and_accept(delta, {"content": typed}, caller)


@admin.register(PlaybookDelta)
class PlaybookDeltaAdmin(RowsAdmin):
    list_display = [
        "operation_shown",
        "text",
        "status_shown",
        "risk_shown",
        "producer",
        "project_name",
        "created_shown",
    ]
    list_filter = [
        ProjectFilter,
        chosen("status", PlaybookDelta.Status.choices),
        chosen("operation", PlaybookDelta.Operation.choices),
        chosen("risk", [(risk, risk) for risk in RISKS]),
        chosen("producer", PlaybookDelta.Producer.choices),
        exactly("category"),
        exactly("run_id", "run"),
        ("created_at", DaysFilter),
    ]
    list_select_related = ["entry"]
    search_fields = ["content__icontains", "entry__label", "run_id", "id"]
    search_help_text = "Words of the text, a label, or the id of a run"
    fieldsets = [
        (None, {"fields": ["operation", "status_shown", "risk_shown", "text_before"]}),
        (
            "Proposed",
            {"fields": ["content_shown", "category", "payload_shown", "reason"]},
        ),
        (
            "From",
            {
                "fields": [
                    "project_name",
                    "producer",
                    "producer_name",
                    "producer_version",
                    "proposed_by",
                    "agent_id",
                    "run_shown",
                    "memory_shown",
                    "created_shown",
                ]
            },
        ),
        (
            "Decision",
            {"fields": ["reviewer", "review_note", "reviewed_at", "version"]},
        ),
    ]
    deeds = [
        Deed(
            "accept",
            "Accept",
            Role.CURATOR,
            lambda delta, caller, text: curation.accept(delta, caller),
            "accepted",
            fits=lambda delta: delta.status == PlaybookDelta.Status.PENDING,
        ),
        Deed(
            "edit",
            "Edit and accept",
            Role.CURATOR,
            _edit,
            "edited and accepted",
            fits=lambda delta: (
                delta.status == PlaybookDelta.Status.PENDING
                and delta.operation in WRITES_TEXT
            ),
            asks="In your words",
            starts_with=lambda delta: delta.content,
            needs_text=True,
        ),
        Deed(
            "reject",
            "Reject",
            Role.CURATOR,
            lambda delta, caller, text: curation.reject(
                delta, caller, reason=text or REASONS[-1]
            ),
            "rejected",
            fits=lambda delta: delta.status in {"pending", "stale"},
            asks="Reason",
            choices=REASONS,
            is_final=True,
        ),
        Deed(
            "undo",
            "Undo",
            Role.CURATOR,
            lambda delta, caller, text: undoing.undo(delta, caller, reason=text),
            "undone",
            fits=lambda delta: delta.status in PlaybookDelta.IN_FORCE,
            asks="Why",
        ),
    ]

    content_shown = staticmethod(
        panels.column("content", panels.block, title="content")
    )
    payload_shown = staticmethod(
        panels.column("payload", panels.plain_json, title="further columns")
    )
    created_shown = staticmethod(
        panels.column("created_at", moment, title="proposed", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        heavy = ("entry__content_tsv", "entry__content_terms")
        return super().get_queryset(request).select_related("entry").defer(*heavy)

    @admin.display(description="operation", ordering="operation")
    def operation_shown(self, delta: PlaybookDelta) -> Any:
        label = f" {delta.entry.label}" if delta.entry else ""
        return words(f"{delta.operation}{label}", 60)

    @admin.display(description="text")
    def text(self, delta: PlaybookDelta) -> SafeString:
        return words(delta.content or delta.reason, 140)

    @display(description="status", label=DECISIONS, ordering="status")
    def status_shown(self, delta: PlaybookDelta) -> str:
        return delta.status

    @display(description="risk", label=RISKS, ordering="risk")
    def risk_shown(self, delta: PlaybookDelta) -> str:
        return delta.risk

    @admin.display(description="entry as it is")
    def text_before(self, delta: PlaybookDelta) -> Any:
        if delta.entry is None:
            return ""
        return link(ENTRY, delta.entry_id, delta.entry, IN_PANEL)

    @admin.display(description="run")
    def run_shown(self, delta: PlaybookDelta) -> Any:
        return link(RUN, delta.run_id)

    @admin.display(description="memory")
    def memory_shown(self, delta: PlaybookDelta) -> Any:
        return link(MEMORY, delta.memory_id)

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        yield evidence_of(row.evidence)
        yield gates_of(row.gates)
        changes = PlaybookChange.objects.visible_to(caller_of(request))
        yield history_of(changes.filter(delta_id=row.pk))

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]


def evidence_of(quotes: list[Any]) -> Panel:
    return panels.table(
        "Evidence",
        ["Field", "From", "To", "Quote"],
        (
            [
                words(quote.get("field", ""), 60),
                quote.get("start"),
                quote.get("end"),
                panels.block(quote.get("quote", ""), 2_000),
            ]
            for quote in quotes
            if isinstance(quote, dict)
        ),
        empty="No quote.",
    )


def gates_of(gates: list[Any]) -> Panel:
    """The gates, one a line: whatever columns they were stored with."""
    rows = [gate for gate in gates if isinstance(gate, dict)]
    names = list(dict.fromkeys(name for gate in rows for name in gate))
    return panels.table(
        "Gates",
        [name.replace("_", " ") for name in names],
        ([words(_plain(gate.get(name)), 300) for name in names] for gate in rows),
        empty="No gate was asked.",
    )


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return (
        f"{value:.3f}".rstrip("0").rstrip(".")
        if isinstance(value, float)
        else str(value)
    )


@admin.register(PlaybookChange)
class PlaybookChangeAdmin(RowsAdmin):
    list_display = [
        "at_shown",
        "revision",
        "action",
        "entry_shown",
        "actor_shown",
        "reason_shown",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        chosen("operation", PlaybookChange.Operation.choices),
        exactly("action"),
        exactly("actor"),
        exactly("entry_label", "entry"),
        ("changed_at", DaysFilter),
    ]
    search_fields = ["entry_label", "entry_id", "actor", "run_id", "delta_id"]
    search_help_text = "Label or id of an entry, actor, id of a run or delta"
    fields = [
        "at_shown",
        "revision",
        "operation",
        "action",
        "entry_shown",
        "actor_shown",
        "agent_id",
        "project_name",
        "changed",
        "reason",
        "memory_shown",
        "delta_shown",
        "run_shown",
        "reverts_id",
        "request_id",
    ]

    at_shown = staticmethod(
        panels.column("changed_at", moment, title="when", ordering="id")
    )
    actor_shown = staticmethod(panels.column("actor", words, ordering="actor"))
    reason_shown = staticmethod(
        panels.column("reason", lambda text: words(text, 80), title="reason")
    )

    @admin.display(description="entry", ordering="entry_label")
    def entry_shown(self, change: PlaybookChange) -> Any:
        return link(ENTRY, change.entry_id, change.entry_label)

    @admin.display(description="change")
    def changed(self, change: PlaybookChange) -> Any:
        return panels.difference(change.before, change.after)

    @admin.display(description="memory")
    def memory_shown(self, change: PlaybookChange) -> Any:
        return link(MEMORY, change.related_memory_id)

    @admin.display(description="delta")
    def delta_shown(self, change: PlaybookChange) -> Any:
        return link(DELTA, change.delta_id)

    @admin.display(description="run")
    def run_shown(self, change: PlaybookChange) -> Any:
        return link(RUN, change.run_id)


@admin.register(Playbook)
class PlaybookAdmin(RowsAdmin):
    list_display = ["project_name", "revision", "tokens", "next_label"]
    list_filter = [ProjectFilter]
    fields = ["project_name", "revision", "tokens", "next_label"]

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        changes = PlaybookChange.objects.visible_to(caller_of(request))
        yield history_of(changes.filter(project_id=row.project_id))


@admin.register(Conflict)
class ConflictAdmin(RowsAdmin):
    list_display = [
        "reason_shown",
        "left_shown",
        "right_shown",
        "state",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        chosen("state", Conflict.State.choices),
        ("created_at", DaysFilter),
    ]
    search_fields = ["left__label", "right__label", "id"]
    search_help_text = "Label of an entry"
    fields = [
        "reason_shown",
        "state",
        "left_shown",
        "right_shown",
        "project_name",
        "decided_by",
        "decided_at",
        "created_at",
    ]

    reason_shown = staticmethod(panels.column("reason", words, title="reason"))

    def get_queryset(self, request: HttpRequest) -> Any:
        heavy = ("content_tsv", "content_terms")
        return (
            super()
            .get_queryset(request)
            .select_related("left", "right", "delta")
            .defer(*(f"{side}__{name}" for side in ("left", "right") for name in heavy))
        )

    @admin.display(description="one side")
    def left_shown(self, conflict: Conflict) -> Any:
        return link(ENTRY, conflict.left_id, conflict.left)

    @admin.display(description="other side")
    def right_shown(self, conflict: Conflict) -> Any:
        if conflict.right:
            return link(ENTRY, conflict.right_id, conflict.right)
        if conflict.delta:
            return link(DELTA, conflict.delta_id, conflict.delta.content)
        return ""

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]


class OfEntry(RowsAdmin):
    """Rows that hang on an entry, and are seen by whom the entry is."""

    project_path = "entry__project_id"
    list_select_related = ["entry"]

    def visible_to(self, caller: Caller) -> Any:
        seen = PlaybookEntry.objects.visible_to(caller)
        return (
            self.model.objects.filter(entry__in=seen)
            .select_related("entry")
            .defer("entry__content_tsv", "entry__content_terms")
        )

    @admin.display(description="entry")
    def entry_shown(self, row: Any) -> Any:
        return link(ENTRY, row.entry_id, row.entry, 80)


@admin.register(Support)
class SupportAdmin(OfMemory):
    project_path = "entry__project_id"
    list_display = ["id", "entry_shown", "memory_shown", "project_name", "since"]
    list_filter = [ProjectFilter]
    search_fields = ["entry__label", "memory_id", "entry_id"]
    search_help_text = "Label of an entry, or id of a memory"
    fields = ["entry_shown", "memory_shown", "project_name", "since"]

    since = staticmethod(
        panels.column("created_at", moment, title="since", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        heavy = ("content_tsv", "content_terms")
        return (
            super()
            .get_queryset(request)
            .select_related("entry", "memory")
            .defer(
                *(f"{side}__{name}" for side in ("entry", "memory") for name in heavy)
            )
        )

    @admin.display(description="entry")
    def entry_shown(self, row: Support) -> Any:
        return link(ENTRY, row.entry_id, row.entry, 80)


@admin.register(EntryVector)
class EntryVectorAdmin(OfEntry):
    list_display = ["id", "entry_shown", "model", "project_name"]
    list_filter = [ProjectFilter, exactly("model")]
    search_fields = ["entry_id", "entry__label", "id"]
    search_help_text = "Id or label of the entry"
    fields = ["id", "entry_shown", "model", "project_name", "dimensions"]

    def get_queryset(self, request: HttpRequest) -> Any:
        heavy = ("embedding", "entry__content_tsv", "entry__content_terms")
        return super().get_queryset(request).defer(*heavy)

    @admin.display(description="dimensions")
    def dimensions(self, vector: EntryVector) -> int:
        return len(list(vector.embedding))


@admin.register(Exposure)
class ExposureAdmin(OfEntry):
    list_display = [
        "entry_shown",
        "run_shown",
        "agent",
        "was_cited",
        "project_name",
        "when",
    ]
    list_display_links = ["when"]
    list_filter = [
        ProjectFilter,
        chosen("was_cited", [(1, "yes"), (0, "no")], "cited"),
        exactly("agent_id", "agent"),
    ]
    search_fields = ["entry__label", "run_id", "entry_id"]
    search_help_text = "Label of an entry, or id of a run"
    fields = ["entry_shown", "run_shown", "agent", "was_cited", "project_name", "when"]

    agent = staticmethod(
        panels.column("agent_id", lambda agent: words(agent, 40), title="agent")
    )
    when = staticmethod(panels.column("at", moment, title="when", ordering="id"))

    @admin.display(description="run")
    def run_shown(self, row: Exposure) -> Any:
        return link(RUN, row.run_id)
