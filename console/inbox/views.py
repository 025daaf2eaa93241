"""The pages of the inbox: its lists, one card, and a quote in its context."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse

from common.admin.paginator import BoundedPaginator
from console.inbox import (
    duplicate_cards,
    nearby,
    proposal_cards,
    proposal_words,
    quote_context,
)
from console.inbox.inbox_page import FLASH_KEY, InboxPage
from console.inbox.tabs import CARDS_PER_PAGE, TABS, InboxTab, ProposalFilters
from jobs.models import Job
from memories.duplicates import scan

TEMPLATES = {
    "delta": "card.html",
    "duplicate": "duplicate.html",
}


class InboxListPage(InboxPage):
    template = "console/inbox/inbox.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        tab, filters = self.tab, self.filters
        rows = tab.rows(self.project, self.caller)
        rows = filters.apply(rows) if tab.has_filters else rows
        page = BoundedPaginator(rows, CARDS_PER_PAGE).get_page(request.GET.get("page"))
        cards = self.cards(tab, page.object_list)
        counts = self.counts()
        return self.show(
            **self.context(),
            tabs=[{"tab": each, "count": counts[each.name]} for each in TABS],
            filters=filters,
            kinds=proposal_words.KINDS.items(),
            producers=proposal_words.PRODUCERS.items(),
            page=page,
            cards=_card_rows(tab, cards),
            **_bulk_choices(tab, cards),
            last_scan=self.last_scan(tab),
            flash=request.session.pop(FLASH_KEY, None),
            pages_url=f"?{urlencode({n: v for n, v in self.list_query.items() if n != 'page'})}",
        )

    def last_scan(self, tab: InboxTab) -> Job | None:
        return scan.last_scan(self.project) if tab.kind == "duplicate" else None

    @property
    def filters(self) -> ProposalFilters:
        names = ("category", "producer", "kind", "run")
        return ProposalFilters(
            **{n: self.request.GET.get(n, "").strip() for n in names}
        )

    def cards(self, tab: InboxTab, rows: Any) -> Sequence[Any]:
        if tab.kind == "duplicate":
            return [
                duplicate_cards.duplicate_card(one, self.may_decide) for one in rows
            ]
        deltas = list(rows.with_entry())
        return proposal_cards.build_cards(deltas, self.caller)


class CardPage(InboxPage):
    """A page that shows one proposal with everything known about it."""

    template = "console/inbox/single_card.html"

    def get(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        delta = self.delta(pk)
        return self.render_card(self.card(delta, {}))

    def render_card(
        self, card: proposal_cards.ProposalCard, status: int = 200
    ) -> HttpResponse:
        effect = nearby.find_nearby(card, self.caller)
        context = {**self.context(), "card": card, "nearby": effect, "is_whole": True}
        return self.render(CardPage.template, status=status, **context)


class NearbyPart(InboxPage):
    """The part of a card that the page's script loads when a reader opens the card."""

    def get(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        delta = self.delta(pk)
        card = self.card(delta, {})
        effect = nearby.find_nearby(card, self.caller)
        part = self.render_part("nearby.html", card=card, nearby=effect)
        return HttpResponse(part)


class QuotePart(InboxPage):
    """A quote, shown in the field from which it was taken."""

    title = "The quote in its context"
    template = "console/inbox/quote.html"

    def get(self, request: HttpRequest, pk: uuid.UUID, number: int) -> HttpResponse:
        delta = self.delta(pk)
        source = quote_context.find_quote(delta, number, self.caller)
        if source is None:
            raise Http404("This proposal has no such quote.")
        return self.show(**self.context(), delta=delta, source=source, number=number)


def _bulk_choices(tab: InboxTab, cards: Sequence[Any]) -> dict[str, bool]:
    """Return what can be done with several cards of a list of proposals at once."""
    is_list = tab.name in ("pending", "quarantine")
    return {
        "can_select": is_list and any(card.is_selectable for card in cards),
        "can_accept": is_list and any(card.is_bulk_acceptable for card in cards),
    }


def _card_rows(tab: InboxTab, cards: Sequence[Any]) -> list[dict[str, Any]]:
    """Return each card with its template and the id of the card after it."""
    after = [card.pk for card in cards[1:]]
    template = f"console/inbox/{TEMPLATES[tab.kind]}"
    return [
        {"card": card, "next": pk, "template": template}
        for card, pk in zip_longest(cards, after, fillvalue="")
    ]
