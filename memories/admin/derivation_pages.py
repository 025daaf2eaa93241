"""Pages that promote a memory, and pages that compact several memories into one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common import errors
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.pages import MAX_SELECTED, AdminPage, PageForm
from common.admin.panels import PANEL_LIMIT, Panel, format_time, row_link, short_text
from common.caller import Caller, Role
from memories import scopes
from memories.admin.status import MEMORY, status_of
from memories.lifecycle import derive, lookup, promote
from memories.models import Memory
from memories.retention import compact, undo_compaction
from memories.scopes import KEY_FIELDS, Scope
from memories.store.drafts import MAX_CONTENT
from memories.store.receipt import Receipt

HEAD = ["Memory", "Scope", "State", "Created", "Expires"]


class ChosenMemoriesForm(PageForm):
    """A form about the memories in the URL.

    A hidden field carries the ids of these memories.
    """

    memories = forms.CharField(
        widget=forms.HiddenInput, max_length=40 * MAX_SELECTED, label="memories"
    )

    def clean_memories(self) -> list[uuid.UUID]:
        ids = _parse_ids(self.cleaned_data["memories"])
        if not ids:
            raise forms.ValidationError(
                "Choose memories in the list of memories first."
            )
        return ids

    def context_panels(self) -> Iterable[Panel]:
        ids = _parse_ids(str(self["memories"].value() or ""))
        seen = Memory.objects.visible_to(self.caller).light().in_bulk(ids)
        yield panels.table(
            "Memories",
            HEAD,
            _memory_rows([seen[pk] for pk in ids if pk in seen]),
            empty="Choose memories in the list of memories first.",
            most=MAX_SELECTED,
        )


def _parse_ids(listed: str) -> list[uuid.UUID]:
    try:
        return [uuid.UUID(one) for one in listed.split(",") if one]
    except ValueError:
        return []


def _memory_rows(rows: Iterable[Memory]) -> Iterable[list[Any]]:
    for memory in rows:
        yield [
            row_link(MEMORY, memory.pk, memory),
            scope_label(memory),
            status_of(memory),
            format_time(memory.created_at),
            format_time(memory.expires_at),
        ]


def scope_label(memory: Memory) -> Any:
    if memory.scope_kind in {Memory.ScopeKind.WORKSPACE, Memory.ScopeKind.ORG}:
        return memory.get_scope_kind_display()
    return short_text(f"{memory.scope_kind}: {memory.scope_key}", 60)


class PromoteForm(ChosenMemoriesForm):
    target = forms.ChoiceField(
        label="Broader scope",
        choices=[(kind, kind) for kind in ("user", "object", "workspace", "org")],
        widget=UnfoldAdminSelectWidget,
    )
    key = forms.CharField(
        label="Key of the scope",
        max_length=255,
        required=False,
        strip=False,
        help_text="The user's or the object's id; empty for the workspace and the org.",
        widget=UnfoldAdminTextInputWidget,
    )
    object_type = forms.CharField(
        label="Type of the object",
        max_length=255,
        required=False,
        strip=False,
        widget=UnfoldAdminTextInputWidget,
    )
    delete_original = forms.BooleanField(
        label="Delete the original", required=False, widget=UnfoldBooleanWidget
    )

    def apply(self) -> Receipt:
        data = self.cleaned_data
        memory = lookup.get_memory(data["memories"][0], self.caller, Role.WRITER)
        derivation = promote.prepare(
            memory,
            self._target(memory),
            self.caller,
            delete_original=data["delete_original"],
        )
        return derive.commit(derivation, self.caller)

    def _target(self, memory: Memory) -> Scope:
        data = self.cleaned_data
        kind = data["target"]
        if kind == Memory.ScopeKind.OBJECT and not (
            data["key"] and data["object_type"]
        ):
            raise errors.Invalid(errors={"key": ["An object has a type and an id."]})
        named = {
            "kind": kind,
            KEY_FIELDS[kind]: data["key"],
            "object_type": data["object_type"],
        }
        if kind == Memory.ScopeKind.USER and not data["key"]:
            raise errors.Invalid(errors={"key": ["Name the user."]})
        return scopes.resolve(named, memory.project, self.caller)


class CompactForm(ChosenMemoriesForm):
    self_guarded: ClassVar[frozenset[str]] = frozenset(["content"])
    content = forms.CharField(
        label="Text",
        max_length=MAX_CONTENT,
        required=False,
        strip=False,
        help_text="If empty, the project's language model writes a summary; without a "
        "model, the summary is made of sentences of the memories.",
        widget=UnfoldAdminTextareaWidget({"rows": 8}),
    )
    delete_sources = forms.BooleanField(
        label="Delete the sources",
        required=False,
        help_text="Undoing the compaction brings them back.",
        widget=UnfoldBooleanWidget,
    )
    expires_at = forms.DateTimeField(
        label="Expires at",
        required=False,
        help_text="As 2026-12-31 18:00. Required to delete sources that expire at "
        "different times. Empty: the earliest of their expiries.",
        widget=UnfoldAdminTextInputWidget,
    )

    def apply(self) -> Receipt:
        data = self.cleaned_data
        first = lookup.get_memory(data["memories"][0], self.caller, Role.WRITER)
        text = data["content"]
        by = (
            compact.fixed_summarizer(text)
            if text
            else compact.project_summarizer(first.project)
        )
        options = compact.CompactionOptions(
            delete_sources=data["delete_sources"],
            expires_at=data["expires_at"] or compact.Expiry.EARLIEST,
        )
        derivation = compact.prepare(
            first.project, data["memories"], None, by, self.caller, options
        )
        return derive.commit(derivation, self.caller)


def _open_result(request: HttpRequest, receipt: Receipt) -> HttpResponse:
    assert receipt.memory
    messages.success(request, " ".join(["The new memory is stored.", *receipt.notes]))
    return redirect(f"admin:{MEMORY}_change", receipt.memory.pk)


def _promote_query(memory: Memory) -> dict[str, object] | None:
    can = promote.BROADER_SCOPES[memory.scope_kind] and status_of(memory) == "current"
    return {"memories": memory.pk} if can else None


PROMOTE = AdminPage(
    "promote",
    "Promote",
    Role.WRITER,
    PromoteForm,
    _open_result,
    "Promote",
    description="A copy of the memory for a broader scope. It names this one as its origin.",
    uses_post=True,
    in_list=False,
    query_for_row=_promote_query,
)
COMPACT = AdminPage(
    "compact",
    "Compact",
    Role.WRITER,
    CompactForm,
    _open_result,
    "Compact",
    description="Replace several memories of one scope by one memory. It keeps their "
    "origins, their tags and the strictest sensitivity.",
    uses_post=True,
    in_list=False,
    query_for_rows=lambda rows: {"memories": ",".join(str(row.pk) for row in rows)},
)
UNDO = AdminAction(
    "undo_compaction",
    "Undo the compaction",
    Role.WRITER,
    lambda memory, caller, text: undo_compaction.undo(memory, caller),
    "deleted; its sources are as they were",
    is_possible=lambda memory, caller: (
        memory.is_compaction_result and memory.deleted_at is None
    ),
    is_final=True,
)


def sources_panel(memory: Memory, caller: Caller) -> Panel:
    """Show the sources of a compaction that the caller may see.

    The panel also shows the level of the summary.
    """
    ids = memory.compacted_from
    seen = Memory.objects.visible_to(caller).light().in_bulk(ids)
    details = compact.summary_of(memory.compaction) or {"text": "given"}
    how = "; ".join(f"{name}: {value}" for name, value in details.items() if value)
    return Panel(
        "Compacted from",
        HEAD,
        list(_memory_rows([seen[pk] for pk in ids if pk in seen])),
        "Its sources were removed.",
        short_text(how, PANEL_LIMIT),
    )
