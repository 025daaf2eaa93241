"""The doors of the inbox: its lists, one card, and a quote where it stands."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse

from common.admin.paginator import BoundedPaginator
from console.inbox import nearby, pair_cards, proposal_cards, quote_context, tabs
from console.inbox.inbox_page import FLASH_KEY, InboxPage
from console.inbox.tabs import CARDS_PER_PAGE, TABS, InboxTab, ProposalFilters
from playbook.models import PlaybookDelta

TEMPLATES = {"delta": "card.html", "conflict": "conflict.html", "doubt": "doubt.html"}


class InboxListPage(InboxPage):
    template = "console/inbox/inbox.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        tab, filters = self.tab, self.filters
        rows = tab.rows(self.project, self.caller)
        fitting = filters.fit(rows) if tab.is_filtered else rows
        page = BoundedPaginator(fitting, CARDS_PER_PAGE).get_page(
            request.GET.get("page")
        )
        counts = self.counts()
        return self.show(
            **self.context(),
            tabs=[{"tab": each, "count": counts[each.name]} for each in TABS],
            filters=filters,
            causes=list(tabs.root_causes(rows)) if tab.is_filtered else [],
            producers=PlaybookDelta.Producer.values,
            page=page,
            cards=_card_rows(tab, self.cards(tab, page.object_list)),
            said=request.session.pop(FLASH_KEY, None),
            pages_url=f"?{urlencode({n: v for n, v in self.asked.items() if n != 'page'})}",
        )

    @property
    def filters(self) -> ProposalFilters:
        names = ("category", "producer", "cause", "run")
        return ProposalFilters(
            **{n: self.request.GET.get(n, "").strip() for n in names}
        )

    def cards(self, tab: InboxTab, rows: Any) -> Sequence[Any]:
        if tab.kind == "conflict":
            return [pair_cards.conflict_card(one, self.may_decide) for one in rows]
        if tab.kind == "doubt":
            return [pair_cards.duplicate_card(one, self.may_decide) for one in rows]
        deltas = list(rows.with_entry())
        return proposal_cards.build_cards(
            deltas, self.caller, may_decide=self.may_decide
        )


class CardPage(InboxPage):
    """A proposal on a page of its own, with all that is known of it."""

    template = "console/inbox/one.html"

    def get(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        delta = self.delta(pk)
        return self.page(self.card(delta, {}, ""))

    def page(
        self, card: proposal_cards.ProposalCard, status: int = 200
    ) -> HttpResponse:
        near = nearby.find_nearby(card.delta, self.caller)
        context = {**self.context(), "card": card, "near": near, "is_whole": True}
        return self.render(CardPage.template, status=status, **context)


class NearbyPart(InboxPage):
    """The part of a card that is looked up when it is opened."""

    def get(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        delta = self.delta(pk)
        card = self.card(delta, {}, "")
        near = nearby.find_nearby(delta, self.caller)
        return HttpResponse(self.part("nearby.html", card=card, near=near))


class QuotePart(InboxPage):
    """A quote in the field that it was cut from."""

    title = "Where the quote stands"
    template = "console/inbox/quote.html"

    def get(self, request: HttpRequest, pk: uuid.UUID, number: int) -> HttpResponse:
        delta = self.delta(pk)
        found = quote_context.find_quote(delta, number, self.caller)
        if found is None:
            raise Http404("This proposal has no such quote.")
        return self.show(**self.context(), delta=delta, found=found, number=number)


def _card_rows(tab: InboxTab, shown: Sequence[Any]) -> list[dict[str, Any]]:
    """The cards with their template, each with the one that comes after it."""
    after = [card.pk for card in shown[1:]]
    template = f"console/inbox/{TEMPLATES[tab.kind]}"
    return [
        {"card": card, "next": pk, "template": template}
        for card, pk in zip_longest(shown, after, fillvalue="")
    ]
