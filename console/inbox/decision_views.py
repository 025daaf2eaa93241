"""The doors of decisions about proposals: one, many, and the last one taken back."""

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
from console.inbox.decision_actions import DECISION_ACTIONS, REASONS, undo_last_decision
from console.inbox.form_input import FormInput
from console.inbox.inbox_page import InboxPage
from console.inbox.views import CardPage
from playbook.models import PlaybookDelta
from playbook.review import bulk

MAX_IN_BULK = 100


class DecideView(CardPage):
    """A decision about one proposal, as a form or from the script.

    Whoever comes by its address, as after signing in, is led to the card.
    """

    def get(self, request: HttpRequest, pk: uuid.UUID, name: str = "") -> HttpResponse:
        card = reverse("console:inbox_card", args=[pk])
        return redirect(f"{card}?{urlencode(self.asked)}")

    def post(self, request: HttpRequest, pk: uuid.UUID, name: str) -> HttpResponse:
        if name not in DECISION_ACTIONS:
            raise Http404("There is no such decision.")
        delta, decision = self.delta(pk), DECISION_ACTIONS[name]
        told = form_input.from_request(request)
        try:
            words, decided = decision.do(delta, self.caller, told)
        except errors.Refusal as refusal:
            return self.refused(pk, told, refusal)
        if name == "rebase":
            return self.renewed(pk, told, words)
        undo = {} if decision.is_last else {pk: decided.version}
        return self.told(words, undo=undo, then=told.get("next", ""), gone=str(pk))

    def refused(
        self, pk: uuid.UUID, told: FormInput, refusal: errors.Refusal
    ) -> HttpResponse:
        """The card as it is now, why not, and what was typed."""
        words = form_input.describe_refusal(refusal)
        merged = told.get("merged") or refusal.extra.get("merged", "")
        card = self.card(self.delta(pk), {**told, "merged": merged}, words)
        if self.wants_data:
            part = self.part("card.html", card=card)
            return self.told(words, status=refusal.status, card=part, at=str(pk))
        return self.page(card, refusal.status)

    def renewed(self, pk: uuid.UUID, told: FormInput, words: str) -> HttpResponse:
        card = self.card(self.delta(pk), told, "")
        if self.wants_data:
            return self.told(words, card=self.part("card.html", card=card), at=str(pk))
        if "content" in told:
            return self.page(card)
        return self.told(words, then=str(pk))


class UndoView(InboxPage):
    """The last decision taken back, of one proposal or of many at once."""

    def post(self, request: HttpRequest) -> HttpResponse:
        told, refused = [], []
        seen = dict(zip_longest(_chosen_ids(request), request.POST.getlist("version")))
        for pk, version in seen.items():
            try:
                delta = self.delta(pk, Role.CURATOR)
                done, _ = undo_last_decision(delta, self.caller, version or "")
                told.append(done)
            except errors.Refusal as refusal:
                refused.append(refusal.detail)
        many = [f"Undone: {len(told)} wait again."] if len(told) > 1 else told
        words = " ".join([*many, *dict.fromkeys(refused)])
        status = 200 if told else 409
        back = [str(pk) for pk in seen]
        if not seen:
            return self.told("There is nothing to undo.", status=400, back=[])
        return self.told(words, status=status, then=back[0], back=back)


class BulkView(InboxPage):
    """One decision about the chosen cards; accepting is for those of low risk only."""

    def post(self, request: HttpRequest) -> HttpResponse:
        ids = _chosen_ids(request)
        if not ids:
            return self.told("Choose some proposals first.", status=400, gone_all=[])
        action = request.POST.get("action")
        if action == "reject":
            reason = REASONS.get(request.POST.get("reason_code", ""), "other")
            return self.decide(ids, action, reason)
        if action != "accept":
            words = "Say whether to accept or to reject them."
            return self.told(words, status=400, gone_all=[])
        rows = PlaybookDelta.objects.visible_to(self.caller).filter(risk="low")
        low = set(rows.filter(pk__in=ids).values_list("pk", flat=True))
        chosen = [pk for pk in ids if pk in low]
        return self.decide(chosen, action, "", left=len(ids) - len(chosen))

    def decide(
        self, ids: Sequence[uuid.UUID], action: Any, reason: str, left: int = 0
    ) -> HttpResponse:
        try:
            outcomes = bulk.decide_all(
                self.project, ids, action, self.caller, reason=reason
            )
        except errors.Refusal as refusal:
            return self.told(refusal.detail, status=refusal.status, gone_all=[])
        done = {one.delta_id: one.version for one in outcomes if one.version}
        words = " ".join(_summarise(action, len(done), outcomes, left))
        gone = [str(pk) for pk in done]
        return self.told(words, undo=done, gone_all=gone)


def _summarise(
    action: str, done: int, outcomes: Iterable[bulk.BulkOutcome], left: int
) -> Iterable[str]:
    yield f"{'Accepted' if action == 'accept' else 'Rejected'}: {done}."
    if left:
        yield f"Left, because they are not of low risk: {left}."
    refused = [one.refusal.detail for one in outcomes if one.refusal]
    if refused:
        yield f"Refused: {len(refused)}. {' '.join(list(dict.fromkeys(refused))[:3])}"


def _chosen_ids(request: HttpRequest) -> list[uuid.UUID]:
    given = request.POST.getlist("id")[:MAX_IN_BULK]
    try:
        return [uuid.UUID(one) for one in given]
    except ValueError as unknown:
        raise Http404("There is no such proposal.") from unknown
