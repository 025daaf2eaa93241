"""What is made of memories on admin pages: one promoted, several compacted into one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

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
from memories import compaction, derivation, lifecycle, promotion, scopes
from memories.admin.shown import MEMORY, standing
from memories.drafts import CONTENT
from memories.models import Memory
from memories.receipts import Receipt
from memories.scopes import KEYS, Scope

HEAD = ["Memory", "Scope", "State", "Created", "Expires"]


class DerivationForm(PageForm):
    """About memories that the address names; they come back hidden with the form."""

    memories = forms.CharField(
        widget=forms.HiddenInput, max_length=40 * MAX_SELECTED, label="memories"
    )

    def clean_memories(self) -> list[uuid.UUID]:
        ids = _ids(self.cleaned_data["memories"])
        if not ids:
            raise forms.ValidationError("Choose memories in their list first.")
        return ids

    def about(self) -> Iterable[Panel]:
        ids = _ids(str(self["memories"].value() or ""))
        seen = Memory.objects.visible_to(self.caller).light().in_bulk(ids)
        yield panels.table(
            "Memories",
            HEAD,
            _lines([seen[pk] for pk in ids if pk in seen]),
            empty="Choose memories in their list first.",
            most=MAX_SELECTED,
        )


def _ids(listed: str) -> list[uuid.UUID]:
    try:
        return [uuid.UUID(one) for one in listed.split(",") if one]
    except ValueError:
        return []


def _lines(rows: Iterable[Memory]) -> Iterable[list[Any]]:
    for memory in rows:
        yield [
            row_link(MEMORY, memory.pk, memory),
            scope_of(memory),
            standing(memory),
            format_time(memory.created_at),
            format_time(memory.expires_at),
        ]


def scope_of(memory: Memory) -> Any:
    if memory.scope_kind in {Memory.Scope.WORKSPACE, Memory.Scope.ORG}:
        return memory.get_scope_kind_display()
    return short_text(f"{memory.scope_kind}: {memory.scope_key}", 60)


class PromoteForm(DerivationForm):
    target = forms.ChoiceField(
        label="Broader scope",
        choices=[(kind, kind) for kind in ("user", "object", "workspace", "org")],
        widget=UnfoldAdminSelectWidget,
    )
    key = forms.CharField(
        label="Key of the scope",
        max_length=255,
        required=False,
        help_text="The user's or the object's id; empty for the workspace and the org.",
        widget=UnfoldAdminTextInputWidget,
    )
    object_type = forms.CharField(
        label="Type of the object",
        max_length=255,
        required=False,
        widget=UnfoldAdminTextInputWidget,
    )
    delete_original = forms.BooleanField(
        label="Delete the original", required=False, widget=UnfoldBooleanWidget
    )

    def apply(self) -> Receipt:
        data = self.cleaned_data
        memory = lifecycle.get(data["memories"][0], self.caller, Role.WRITER)
        made = promotion.prepare(
            memory,
            self._target(memory),
            self.caller,
            delete_original=data["delete_original"],
        )
        return derivation.commit(made, self.caller)

    def _target(self, memory: Memory) -> Scope:
        data = self.cleaned_data
        kind = data["target"]
        if kind == Memory.Scope.OBJECT and not (data["key"] and data["object_type"]):
            raise errors.Invalid(errors={"key": ["An object has a type and an id."]})
        named = {
            "kind": kind,
            KEYS[kind]: data["key"],
            "object_type": data["object_type"],
        }
        if kind == Memory.Scope.USER and not data["key"]:
            raise errors.Invalid(errors={"key": ["Name the user."]})
        return scopes.resolve(named, memory.project, self.caller)


class CompactForm(DerivationForm):
    content = forms.CharField(
        label="Text",
        max_length=CONTENT,
        required=False,
        strip=False,
        help_text="Empty: a summary, by the language model where there is one, else of "
        "the memories' own sentences.",
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
        help_text="As 2026-12-31 18:00; needed to delete sources that expire at "
        "different times. Empty: as the earliest of them.",
        widget=UnfoldAdminTextInputWidget,
    )

    def apply(self) -> Receipt:
        data = self.cleaned_data
        first = lifecycle.get(data["memories"][0], self.caller, Role.WRITER)
        text = data["content"]
        by = compaction.given(text) if text else compaction.summarized(first.project)
        wish = compaction.Wish(
            delete_sources=data["delete_sources"], expires_at=data["expires_at"]
        )
        target = Scope(
            first.scope_kind, first.scope_key, first.scope_type, first.scope_user
        )
        made = compaction.prepare(
            first.project, data["memories"], target, by, self.caller, wish
        )
        return derivation.commit(made, self.caller)


def _to_the_new(request: HttpRequest, receipt: Receipt) -> HttpResponse:
    assert receipt.memory
    messages.success(request, " ".join(["The new memory is stored.", *receipt.notes]))
    return redirect(f"admin:{MEMORY}_change", receipt.memory.pk)


def _promotable(memory: Memory) -> dict[str, object] | None:
    can = promotion.UPWARD[memory.scope_kind] and standing(memory) == "current"
    return {"memories": memory.pk} if can else None


PROMOTE = AdminPage(
    "promote",
    "Promote",
    Role.WRITER,
    PromoteForm,
    _to_the_new,
    "Promote",
    about="A copy of the memory for a broader scope. It names this one as its origin.",
    posts=True,
    in_list=False,
    of_row=_promotable,
)
COMPACT = AdminPage(
    "compact",
    "Compact",
    Role.WRITER,
    CompactForm,
    _to_the_new,
    "Compact",
    about="One memory in the place of several of one scope. It keeps where each came "
    "from, their tags and the strictest sensitivity.",
    posts=True,
    in_list=False,
    of_rows=lambda rows: {"memories": ",".join(str(row.pk) for row in rows)},
)
UNDO = AdminAction(
    "undo_compaction",
    "Undo the compaction",
    Role.WRITER,
    lambda memory, caller, text: compaction.undo(memory, caller),
    "deleted; its sources are as they were",
    fits=lambda memory: bool(memory.compacted_from) and memory.deleted_at is None,
    is_final=True,
)


def sources_of(memory: Memory, caller: Caller) -> Panel:
    """What a compaction was made of and how, as far as the person may see it."""
    ids = memory.compacted_from
    seen = Memory.objects.visible_to(caller).light().in_bulk(ids)
    made = memory.metadata.get(compaction.MADE)
    told = made if isinstance(made, dict) else {"text": "given"}
    how = "; ".join(f"{name}: {value}" for name, value in told.items() if value)
    return Panel(
        "Compacted from",
        HEAD,
        list(_lines([seen[pk] for pk in ids if pk in seen])),
        "Its sources are gone.",
        short_text(how, PANEL_LIMIT),
    )
