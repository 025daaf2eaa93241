"""The views that decide about proposals.

They decide about one proposal or many proposals at once, or undo the last decision.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from common import errors
from common.caller import Role
from console.inbox import form_input
from console.inbox.decision_actions import DECISIONS, REASONS, undo_last_decision
from console.inbox.form_input import FormInput
from console.inbox.inbox_page import InboxPage
from console.inbox.views import CardPage
from playbook.models import PlaybookDelta
from playbook.review import bulk
from playbook.review.available import NotInBulk

MAX_IN_BULK = 100


class DecideView(CardPage):
    """Decide about one proposal. The page's form or its script sends the decision.

    A GET of the URL is redirected to the card. Signing in leads to such a GET.
    """

    def get(self, request: HttpRequest, pk: uuid.UUID, name: str = "") -> HttpResponse:
        card = reverse("console:inbox_card", args=[pk])
        return redirect(f"{card}?{urlencode(self.list_query)}")

    def post(self, request: HttpRequest, pk: uuid.UUID, name: str) -> HttpResponse:
        if name not in DECISIONS:
            raise Http404("There is no such decision.")
        delta = self.delta(pk)
        fields = form_input.from_request(request)
        try:
            message, decided = DECISIONS[name](delta, self.caller, fields)
        except errors.Refusal as refusal:
            return self.render_refusal(pk, fields, refusal)
        return self.respond(
            message,
            undo=self.undoable([decided]),
            next_card=fields.get("next", ""),
            gone=str(pk),
        )

    def render_refusal(
        self, pk: uuid.UUID, fields: FormInput, refusal: errors.Refusal
    ) -> HttpResponse:
        """Show the present card, the reason for the refusal, and what the person typed."""
        message = form_input.describe_refusal(refusal)
        merged = fields.get("merged") or refusal.extra.get("merged", "")
        card = self.card(self.delta(pk), {**fields, "merged": merged}, refusal)
        if self.wants_json:
            part = self.render_part("card.html", card=card)
            return self.respond(message, status=refusal.status, card=part, at=str(pk))
        return self.render_card(card, refusal.status)


class UndoView(InboxPage):
    """Undo the last decision, which may have been about one proposal or many."""

    def post(self, request: HttpRequest) -> HttpResponse:
        messages, refusals, undone = [], [], []
        versions = dict(
            zip_longest(_chosen_ids(request), request.POST.getlist("version"))
        )
        for pk, version in versions.items():
            try:
                delta = self.delta(pk, Role.CURATOR)
                message, decided = undo_last_decision(delta, self.caller, version or "")
                messages.append(message)
                undone.append(decided)
            except errors.Refusal as refusal:
                refusals.append(refusal.detail)
        if len(messages) > 1:
            messages = [f"Undone: {len(messages)}."]
        message = " ".join([*messages, *dict.fromkeys(refusals)])
        status = 200 if messages else 409
        back = [str(pk) for pk in versions]
        if not versions:
            return self.respond("There is nothing to undo.", status=400, back=[])
        return self.respond(
            message,
            status=status,
            undo=self.undoable(undone),
            next_card=back[0],
            back=back,
        )


class BulkView(InboxPage):
    """Decide about the selected cards. Only cards of low risk can be accepted together."""

    def post(self, request: HttpRequest) -> HttpResponse:
        ids = _chosen_ids(request)
        if not ids:
            return self.respond("Choose some proposals first.", status=400, gone_all=[])
        action = request.POST.get("action")
        if action == "reject":
            reason = REASONS.get(request.POST.get("reason_code", ""), "other")
            return self.decide(ids, action, reason)
        if action != "accept":
            message = "Say whether to accept or to reject them."
            return self.respond(message, status=400, gone_all=[])
        return self.decide(ids, action, "")

    def decide(
        self, ids: Sequence[uuid.UUID], action: Any, reason: str
    ) -> HttpResponse:
        try:
            outcomes = bulk.decide_all(
                self.project, ids, action, self.caller, reason=reason
            )
        except errors.Refusal as refusal:
            return self.respond(refusal.detail, status=refusal.status, gone_all=[])
        done = [one.delta_id for one in outcomes if one.version]
        message = " ".join(_summarise(action, len(done), outcomes))
        undo = self.undoable(
            PlaybookDelta.objects.visible_to(self.caller).filter(pk__in=done)
        )
        return self.respond(message, undo=undo, gone_all=list(map(str, done)))


def _summarise(
    action: str, done: int, outcomes: Sequence[bulk.BulkOutcome]
) -> Iterable[str]:
    yield f"{'Accepted' if action == 'accept' else 'Rejected'}: {done}."
    left = [one for one in outcomes if isinstance(one.refusal, NotInBulk)]
    if left:
        yield f"Left, because they are not of low risk: {len(left)}."
    refusals = [
        one.refusal.detail for one in outcomes if one.refusal and one not in left
    ]
    if refusals:
        reasons = " ".join(list(dict.fromkeys(refusals))[:3])
        yield f"Refused: {len(refusals)}. {reasons}"


def _chosen_ids(request: HttpRequest) -> list[uuid.UUID]:
    given = request.POST.getlist("id")[:MAX_IN_BULK]
    try:
        return [uuid.UUID(one) for one in given]
    except ValueError as unknown:
        raise Http404("There is no such proposal.") from unknown
