"""The base of the inbox's pages: the list that the reader came from, and what is told."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from common import errors
from common.admin.paginator import count_bounded, format_count
from common.caller import Role
from console.inbox import proposal_cards
from console.inbox.decision_actions import REASONS
from console.inbox.tabs import TABS, TABS_BY_NAME, InboxTab
from console.project_page import ProjectPage
from playbook.models import Conflict, PlaybookDelta
from playbook.reading import delta_list

FLASH_KEY = "inbox_said"  # in the session: what the page after a decision tells


class InboxPage(ProjectPage):
    """Any page of the inbox: it knows the list that the reader came from."""

    title = "Review"
    style = "console/inbox.css"
    switches_to = "console:inbox"

    def http_method_not_allowed(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Who comes by the address of a decision, as after signing in, gets the list."""
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
    def asked(self) -> dict[str, str]:
        """What of the address every link and form of the list carries on."""
        kept = ("tab", "category", "producer", "cause", "run", "page")
        given = {name: self.request.GET.get(name, "") for name in kept}
        return {"project": str(self.project.pk)} | {n: v for n, v in given.items() if v}

    @property
    def may_decide(self) -> bool:
        return self.may(Role.CURATOR)

    @property
    def wants_data(self) -> bool:
        """Whether a script asks, which puts the answer into the page that is there."""
        return self.request.headers.get("Accept") == "application/json"

    @property
    def list_url(self) -> str:
        return f"{reverse('console:inbox')}?{urlencode(self.asked)}"

    def context(self) -> dict[str, Any]:
        return {
            "asked": urlencode(self.asked),
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

    def part(self, template: str, **context: Any) -> str:
        whole = {**self.context(), **context}
        return render_to_string(f"console/inbox/{template}", whole, self.request)

    def delta(self, pk: uuid.UUID, role: Role = Role.VIEWER) -> PlaybookDelta:
        """A proposal of the project that is looked at."""
        try:
            found = delta_list.get(pk, self.caller, role)
        except errors.NotFound as missing:
            raise Http404(str(missing)) from missing
        if found.project_id != self.project.pk:
            raise Http404(f"There is no delta {pk} in this project.")
        return found

    def card(
        self, delta: PlaybookDelta, typed: Mapping[str, str], refusal: str
    ) -> proposal_cards.ProposalCard:
        return proposal_cards.build_cards(
            [delta],
            self.caller,
            may_decide=self.may_decide,
            typed=typed,
            refusal=refusal,
        )[0]

    def told(
        self,
        words: str,
        *,
        undo: Mapping[uuid.UUID, int] | None = None,
        reopen: Conflict | None = None,
        status: int = 200,
        then: str = "",
        link: str = "",
        **data: Any,
    ) -> HttpResponse:
        """What happened: to the script, or on the list that the reader goes back to.

        `undo`, {id: version of the decision}, and `reopen` are what was decided, and may
        be taken back by a button while no later decision stands on it;
        `then` is the card that comes next, `link` the page that takes it back.
        """
        said: dict[str, Any] = {"words": words, "link": link, "bad": status >= 400}
        said["undo"] = [
            {"id": str(pk), "version": version} for pk, version in (undo or {}).items()
        ]
        if reopen and reopen.decided_at:
            at = reopen.decided_at.isoformat()
            said["reopen"] = {"id": str(reopen.pk), "decided_at": at}
        if self.wants_data:
            part = self.part("said.html", said=said)
            answer = {"said": part, "counts": self.counts(), **data}
            return JsonResponse(answer, status=status)
        self.request.session[FLASH_KEY] = said
        return redirect(self.list_url + (f"#card-{quote(then)}" if then else ""))
