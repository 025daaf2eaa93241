"""The base view of the inbox.

It knows which list the reader came from, and it answers after a decision.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from common import errors
from common.admin.paginator import count_bounded, format_count
from common.caller import Role
from console import waiting_count
from console.inbox import proposal_cards
from console.inbox.decision_actions import REASONS
from console.inbox.tabs import TABS, TABS_BY_NAME, InboxTab
from console.project_page import ProjectPage
from playbook.models import PlaybookDelta
from playbook.reading import delta_list
from playbook.review.available import Permissions

FLASH_KEY = (
    "inbox_said"  # The session key of the message that the page after a decision shows.
)


class InboxPage(ProjectPage):
    """A page of the inbox. Its query string names the list that the reader came from."""

    title = "Review"
    style = "console/inbox.css"
    switch_route = "console:inbox"

    def http_method_not_allowed(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Redirect a GET of a decision's URL to the list.

        Signing in leads to such a GET.
        """
        if request.method == "GET":
            return redirect(self.list_url)
        return super().http_method_not_allowed(request, *args, **kwargs)

    @property
    def tab(self) -> InboxTab:
        name = self.request.GET.get("tab") or "pending"
        if name not in TABS_BY_NAME:
            raise Http404("The inbox has no such tab.")
        return TABS_BY_NAME[name]

    @property
    def list_query(self) -> dict[str, str]:
        """Return the query parameters that every link and form of the list contains."""
        names = ("tab", "category", "producer", "kind", "run", "page")
        values = {name: self.request.GET.get(name, "") for name in names}
        return {"project": str(self.project.pk)} | {
            n: v for n, v in values.items() if v
        }

    @property
    def may_decide(self) -> bool:
        return self.may(Role.CURATOR)

    @property
    def wants_json(self) -> bool:
        """Whether the page's script sent the request.

        The script shows the answer itself, so the answer is no redirect.
        """
        return self.request.headers.get("Accept") == "application/json"

    @property
    def list_url(self) -> str:
        return f"{reverse('console:inbox')}?{urlencode(self.list_query)}"

    def context(self) -> dict[str, Any]:
        return {
            "list_query": urlencode(self.list_query),
            "may_decide": self.may_decide,
            "role": (self.caller.role_in(self.project.pk) or Role.VIEWER).label,
            "reasons": REASONS.items(),
            "categories": self.project.options.categories,
            "list_url": self.list_url,
            "tab": self.tab,
        }

    def counts(self) -> dict[str, str]:
        rows = {tab.name: tab.rows(self.project, self.caller) for tab in TABS}
        return {
            name: format_count(count_bounded(found)) for name, found in rows.items()
        }

    def render_part(self, template: str, **context: Any) -> str:
        whole = {**self.context(), **context}
        return render_to_string(f"console/inbox/{template}", whole, self.request)

    def delta(self, pk: uuid.UUID, role: Role = Role.VIEWER) -> PlaybookDelta:
        """Return a proposal of this page's project."""
        try:
            found = delta_list.get(pk, self.caller, role)
        except errors.NotFound as missing:
            raise Http404(str(missing)) from missing
        if found.project_id != self.project.pk:
            raise Http404(f"There is no delta {pk} in this project.")
        return found

    def card(
        self,
        delta: PlaybookDelta,
        form_input: Mapping[str, str],
        refusal: errors.Refusal | None = None,
    ) -> proposal_cards.ProposalCard:
        return proposal_cards.build_cards(
            [delta],
            self.caller,
            form_input=form_input,
            refusal=refusal,
        )[0]

    def undoable(self, decided: Iterable[PlaybookDelta]) -> dict[uuid.UUID, int]:
        """Return the versions of those decisions that the reader can undo."""
        permissions = Permissions(self.caller)
        return {
            delta.pk: delta.version
            for delta in decided
            if permissions.find_refusal("undo", delta) is None
        }

    def respond(
        self,
        message: str,
        *,
        undo: Mapping[uuid.UUID, int] | None = None,
        status: int = 200,
        next_card: str = "",
        link: str = "",
        **data: Any,
    ) -> HttpResponse:
        """Send a message to the script, or redirect to the list, which shows the message.

        The answer contains a button that undoes the decision, if `undo` has the id of
        a proposal and the version of its decision. `link` is a page that undoes the
        decision; it replaces the button. `next_card` is the card to go to.
        """
        flash: dict[str, Any] = {"words": message, "link": link, "bad": status >= 400}
        flash["undo"] = [
            {"id": str(pk), "version": version} for pk, version in (undo or {}).items()
        ]
        if self.wants_json:
            part = self.render_part("flash.html", flash=flash)
            badge = {
                waiting_count.NAME: waiting_count.count_waiting(
                    self.caller, self.project.pk
                )
            }
            answer = {"said": part, "counts": self.counts() | badge, **data}
            return JsonResponse(answer, status=status)
        self.request.session[FLASH_KEY] = flash
        return redirect(
            self.list_url + (f"#card-{quote(next_card)}" if next_card else "")
        )
