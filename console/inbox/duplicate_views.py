"""The views that decide about possible duplicates."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from common import errors
from common.caller import Role
from console import text_diff
from console.inbox import duplicate_cards, form_input
from console.inbox.form_input import validate_filled
from console.inbox.inbox_page import InboxPage
from memories.duplicates import decide, scan
from memories.models import Memory, PossibleDuplicate
from memories.serializers.fields import Note

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
            card = duplicate_cards.duplicate_card(
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


class StartScanView(InboxPage):
    """Start the scan for duplicates that also runs daily."""

    def post(self, request: HttpRequest) -> HttpResponse:
        self.require(Role.CURATOR)
        scan.start(self.project, self.caller, threshold=None, apply=True)
        return self.respond("The scan is started: this page shows what it found.")


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
