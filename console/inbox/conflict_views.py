"""The views that decide about conflicts and about possible duplicates."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from common import errors
from common.caller import Caller
from console import text_diff
from console.inbox import form_input, pair_cards
from console.inbox.form_input import FormInput, validate_filled
from console.inbox.inbox_page import FLASH_KEY, InboxPage
from memories.duplicates import decide
from memories.models import Memory, PossibleDuplicate
from memories.serializers.fields import Note
from playbook.conflicts import conflict_list
from playbook.conflicts.contradiction import Contradiction
from playbook.models import Conflict, PlaybookDelta
from playbook.review import resolve_conflict
from playbook.review.resolution_steps import SplitPart
from playbook.review.resolve_conflict import SeenVersions
from playbook.serializers import conflicts as forms

ConflictResult = tuple[str, Conflict]


def _supersede_conflict(
    conflict: Conflict, caller: Caller, fields: FormInput
) -> ConflictResult:
    data = validate_filled(forms.SupersedeConflict, fields)
    winner = data["winner"]
    decided = resolve_conflict.supersede(
        conflict,
        caller,
        winner=winner,
        note=data["note"],
        versions=_seen_versions(data),
    )
    kept = "older" if winner == "left" else "newer"
    return f"Decided: the {kept} rule stays.{_waiting_note(decided, caller)}", decided


def _split_conflict(
    conflict: Conflict, caller: Caller, fields: FormInput
) -> ConflictResult:
    data = validate_filled(forms.SplitConflict, fields)
    left = SplitPart(data["left_condition"], data["left_content"])
    right = SplitPart(data["right_condition"], data["right_content"])
    decided = resolve_conflict.split(
        conflict,
        left,
        right,
        caller,
        note=data["note"],
        versions=_seen_versions(data),
    )
    words = "Decided: both rules stay, each under its condition."
    return f"{words}{_waiting_note(decided, caller)}", decided


def _reject_newer(
    conflict: Conflict, caller: Caller, fields: FormInput
) -> ConflictResult:
    data = validate_filled(forms.ConflictDecision, fields)
    decided = resolve_conflict.reject(
        conflict, caller, note=data["note"], versions=_seen_versions(data)
    )
    return "Decided: the newer rule is refused.", decided


# Each function returns a message and the conflict. The conflict is as it was at the end
# of the function's own transaction.
RESOLUTIONS: dict[str, Callable[[Conflict, Caller, FormInput], ConflictResult]] = {
    "supersede": _supersede_conflict,
    "split": _split_conflict,
    "reject": _reject_newer,
}
DUPLICATE_DECISIONS = {
    "merge": (
        PossibleDuplicate.PairState.MERGED,
        "Merged: the newer is a duplicate now.",
    ),
    "keep": (
        PossibleDuplicate.PairState.KEPT_BOTH,
        "Kept both: the pair is not listed again.",
    ),
}


def _waiting_note(conflict: Conflict, caller: Caller) -> str:
    """Say that the newer rule still waits for the decisions about its other conflicts."""
    rows = PlaybookDelta.objects.visible_to(caller).pending()
    delta = rows.filter(conflicts=conflict.pk).first()
    return f" {delta.review_note}" if delta else ""


class ConflictPage(InboxPage):
    """A conflict, and the other open conflicts of the same proposal."""

    title = "Two rules contradict"
    template = "console/inbox/conflicts.html"

    def get(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        conflict = self.conflict(pk)
        rows = conflict_list.find(self.project, ["open"], self.caller).exclude(pk=pk)
        others = rows.filter(delta=conflict.delta_id) if conflict.delta_id else ()
        found = [conflict, *others]
        return self.show(
            **self.context(),
            cards=[pair_cards.conflict_card(one, self.may_decide) for one in found],
            flash=request.session.pop(FLASH_KEY, None),
        )


class ResolveConflictView(InboxPage):
    """Resolve a conflict in one of three ways."""

    template = "console/inbox/single_card.html"

    def post(self, request: HttpRequest, pk: uuid.UUID, name: str) -> HttpResponse:
        if name not in RESOLUTIONS:
            raise Http404("There is no such decision.")
        fields = form_input.from_request(request)
        conflict = self.conflict(pk)
        try:
            message, decided = RESOLUTIONS[name](conflict, self.caller, fields)
        except errors.Refusal as refusal:
            if isinstance(refusal, Contradiction) and refusal.conflicts:
                return self.lead_to_conflict(refusal)
            return self.render_refusal(pk, fields, refusal)
        deltas = PlaybookDelta.objects.visible_to(self.caller).filter(
            pk__in=decided.decided_with
        )
        return self.respond(
            message,
            undo=self.undoable(deltas),
            next_card=fields.get("next", ""),
            gone=str(pk),
        )

    def render_refusal(
        self, pk: uuid.UUID, fields: FormInput, refusal: errors.Refusal
    ) -> HttpResponse:
        message = form_input.describe_refusal(refusal)
        card = pair_cards.conflict_card(
            self.conflict(pk),
            self.may_decide,
            fields,
            message,
        )
        if self.wants_json:
            part = self.render_part("conflict.html", card=card)
            return self.respond(message, status=refusal.status, card=part, at=str(pk))
        template = "console/inbox/conflict.html"
        context = {**self.context(), "card": card, "card_template": template}
        return self.render(self.template, status=refusal.status, **context)


def _note(request: HttpRequest) -> str:
    """Return the note that a person typed; raise Invalid if it is too long."""
    fields = form_input.from_request(request)
    note: str = validate_filled(Note, {"note": fields.get("note", "")})["note"]
    return note


class DecideDuplicateView(InboxPage):
    """Decide whether two similar memories are duplicates."""

    template = "console/inbox/single_card.html"

    def post(self, request: HttpRequest, pk: uuid.UUID, name: str) -> HttpResponse:
        if name not in DUPLICATE_DECISIONS:
            raise Http404("There is no such decision.")
        state, message = DUPLICATE_DECISIONS[name]
        pair = self.pair(pk)
        try:
            note = _note(request)
            decide.decide(pair, state, self.caller, note=note)
        except errors.Refusal as refusal:
            card = pair_cards.duplicate_card(
                self.pair(pk), self.may_decide, refusal.detail
            )
            if self.wants_json:
                part = self.render_part("duplicate.html", card=card)
                return self.respond(
                    refusal.detail, status=refusal.status, card=part, at=str(pk)
                )
            template = "console/inbox/duplicate.html"
            context = {**self.context(), "card": card, "card_template": template}
            return self.render(self.template, status=refusal.status, **context)
        is_merged = state == PossibleDuplicate.PairState.MERGED
        marked = reverse("console:inbox_marked", args=[pair.memory_id])
        return self.respond(
            message,
            next_card=request.POST.get("next", ""),
            link=marked if is_merged else "",
            gone=str(pk),
        )

    def pair(self, pk: uuid.UUID) -> PossibleDuplicate:
        rows = PossibleDuplicate.objects.visible_to(self.caller)
        pairs = rows.filter(project=self.project).select_related("memory", "other")
        found: PossibleDuplicate | None = pairs.filter(pk=pk).first()
        if found is None:
            raise Http404(
                "This project has no pair of possible duplicates with this id."
            )
        return found


class MarkedDuplicatePage(InboxPage):
    """A memory marked as a duplicate, and its original, with a form to remove the mark."""

    title = "A marked duplicate"
    template = "console/inbox/marked_duplicate.html"

    def get(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        return self.render_memory(self.memory(pk))

    def post(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        memory = self.memory(pk)
        try:
            note = _note(request)
            decide.unmark(memory, self.caller, note=note)
        except errors.Refusal as refusal:
            return self.render_memory(self.memory(pk), refusal.detail, refusal.status)
        return self.respond("Unmarked: it is a memory of its own again.")

    def render_memory(
        self, memory: Memory, refusal: str = "", status: int = 200
    ) -> HttpResponse:
        original = memory.duplicate_of
        diff = text_diff.compare(original.content if original else "", memory.content)
        context = {"memory": memory, "original": original, "diff": diff}
        whole = {**self.context(), **context, "refusal": refusal}
        return self.render(self.template, status=status, **whole)

    def memory(self, pk: uuid.UUID) -> Memory:
        rows = Memory.objects.visible_to(self.caller).readable().light()
        found: Memory | None = (
            rows.filter(pk=pk, project=self.project)
            .select_related("duplicate_of", "project")
            .first()
        )
        if found is None:
            raise Http404("There is no such memory in this project.")
        return found


def _seen_versions(data: Mapping[str, Any]) -> SeenVersions:
    return SeenVersions(
        data.get("left_expected_version"), data.get("right_expected_version")
    )
