from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html

from common import errors
from common.admin import panels
from common.admin.panels import Panel, short_text, time_tag
from common.caller import Role
from console import list_urls
from console.project_page import ProjectPage
from console.session_links import (
    message_url,
    person_link,
    session_link,
    session_url,
    summary_url,
)
from console.sessions import context_preview, summary_tree, transcript
from console.sessions.session_forms import (
    ContextForm,
    SessionActionForm,
    SessionListForm,
)
from conversations.assembly.assemble import Omission
from conversations.messages import explore
from conversations.messages.history import HistoryPage, read_history
from conversations.models import Session, Summary
from conversations.session_search.search import SessionHit, SessionSearch, find
from conversations.sessions import session_list
from conversations.stores import capabilities_of, store_of

PAGE = 50  # sessions of one page
MAX_HITS = 20
SECTIONS = ("transcript", "summaries", "context")


class SessionsPage(ProjectPage):
    """The sessions of the project, the last active first, and a search in their messages."""

    title = "Sessions"
    template = "console/sessions/sessions.html"
    style = "console/sessions.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        form = SessionListForm(request.GET, auto_id="ss-%s")
        if not form.is_valid():
            return self.show(form=form, status=400)
        rows = session_list.list_sessions(self.project, form.filters, self.caller)
        try:
            page, cursor = session_list.read_page(
                rows, limit=PAGE, cursor=request.GET.get("cursor", "")
            )
        except errors.Refusal as refusal:
            messages.error(request, refusal.detail)
            return self.show(form=form, status=400)
        return self.show(
            form=form,
            panels=[self._sessions_panel(page, form), *self._hits(form)],
            next_url=self._next_url(cursor),
        )

    def _sessions_panel(self, page: list[Session], form: SessionListForm) -> Panel:
        is_filtered = any(form.cleaned_data.values())
        return panels.table(
            "In titles and keys" if form.cleaned_data["q"] else "Sessions",
            [
                "Session",
                "User",
                "Agent",
                "Messages",
                "Tokens",
                "In the context",
                "Last active",
            ],
            (_session_row(session) for session in page),
            empty="No session matches."
            if is_filtered
            else "No session yet. Agents store them with POST /api/v1/sessions/{key}/messages, "
            "and manage.py import_sessions reads transcripts.",
            most=PAGE,
        )

    def _hits(self, form: SessionListForm) -> list[Panel]:
        """Return the messages and summaries that match the words of the form."""
        words = form.cleaned_data["q"]
        store = store_of(self.project, self.caller)
        if not words or "searcher" not in capabilities_of(store):
            return []
        wanted = SessionSearch(words, limit=MAX_HITS, filters=form.search_filters)
        found = find(self.project, wanted, self.caller)
        ids = {hit.session_id for hit in found.hits}
        sessions = Session.objects.visible_to(self.caller, self.project).in_bulk(ids)
        return [
            panels.table(
                "In messages and summaries",
                ["Session", "Place", "Text", "When"],
                (
                    _hit_row(hit, sessions[hit.session_id])
                    for hit in found.hits
                    # A session that was purged meanwhile has no row.
                    if hit.session_id in sessions
                ),
                empty="No message matches.",
                most=MAX_HITS,
            )
        ]

    def _next_url(self, cursor: str) -> str:
        if not cursor:
            return ""
        query = self.request.GET.copy()
        query["cursor"] = cursor
        return f"?{query.urlencode()}"


def _session_row(session: Session) -> list[Any]:
    state = " (archived)" if session.is_archived else ""
    return [
        format_html("{}{}", session_link(session), state),
        person_link(session.project_id, session.user_id, session.agent_id),
        short_text(session.agent_id, panels.SHORT_LIMIT),
        f"{session.message_count:,}",
        f"{session.token_count:,}",
        f"{session.context_tokens:,}",
        time_tag(session.last_active),
    ]


def _hit_row(hit: SessionHit, session: Session) -> list[Any]:
    where = session.project_id, session.pk
    if hit.source_type == "summary":
        url, place = summary_url(*where, hit.source_id), "summary"
    else:
        url, place = message_url(*where, hit.seq), f"{hit.seq:,}"
    return [
        session_link(session),
        list_urls.link(url, place),
        short_text(hit.content, panels.PANEL_LIMIT),
        time_tag(hit.timestamp),
    ]


class SessionDetailPage(ProjectPage):
    """One session: its transcript, the tree of its summaries, or what an agent is given."""

    title = "Session"
    template = "console/sessions/session.html"
    style = "console/sessions.css"
    session: Session

    def get(self, request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
        if not self.find_session(session_id):
            return self.show_missing()
        return self.show_section()

    def post(self, request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
        """Archive, restore, compact, undo or redact."""
        if not self.find_session(session_id):
            return self.show_missing()
        self.require(Role.WRITER)
        form = SessionActionForm(request.POST, session=self.session, caller=self.caller)
        if not form.is_valid():
            return self.show_section(form, status=400)
        messages.success(request, form.result)
        return redirect(request.get_full_path())

    def find_session(self, session_id: uuid.UUID) -> bool:
        """Set the session; return whether the person may see it in this project."""
        rows = Session.objects.visible_to(self.caller, self.project)
        found = rows.filter(pk=session_id).first()
        if found is not None:
            self.session = found
            self.session.project = self.project
        return found is not None

    def show_missing(self) -> HttpResponse:
        return self.render("console/sessions/missing.html", status=404)

    def url(self, **query: Any) -> str:
        return session_url(self.project.pk, self.session.pk, **query)

    def show_section(
        self, action_form: SessionActionForm | None = None, status: int = 200
    ) -> HttpResponse:
        asked = self.request.GET.get("show")
        section = asked if asked in SECTIONS else SECTIONS[0]
        content: dict[str, Any] = getattr(self, section)()
        return self.show(
            status=content.pop("status", status),
            session=self.session,
            heading=short_text(self.session),
            size=_size_of(self.session),
            person=person_link(
                self.project.pk, self.session.user_id, self.session.agent_id
            ),
            section=section,
            tabs={name: self.url(show=name) for name in SECTIONS},
            hidden=self.session.last_seq - self.session.message_count,
            may_write=self.may(Role.WRITER),
            action_form=action_form,
            **content,
        )

    def transcript(self) -> dict[str, Any]:
        history = self._history()
        rows = history.messages
        leaves = {row.leaf_id for row in rows if row.leaf_id}
        seen = Summary.objects.visible_to(self.caller, self.project)
        ids = seen.filter(pk__in=leaves).values_list("pk", "summary_id")
        views = transcript.view_messages(rows, dict(ids))
        last = self.session.last_seq
        return {
            "views": views,
            "first_url": self.url() if history.has_previous else "",
            "earlier_url": self.url(before=rows[0].seq)
            if rows and history.has_previous
            else "",
            "later_url": self.url(after=rows[-1].seq) if history.has_next else "",
            "newest_url": self.url(before=last + 1) if history.has_next else "",
            "summaries_url": self.url(show="summaries"),
        }

    def _history(self) -> HistoryPage:
        before, after = _number(self.request, "before"), _number(self.request, "after")
        if before is not None:
            return read_history(self.session, before_seq=before, limit=transcript.PAGE)
        return read_history(self.session, after_seq=after or 0, limit=transcript.PAGE)

    def summaries(self) -> dict[str, Any]:
        try:
            opened = self._find_summary()
        except errors.NotFound as error:
            return {"missing": error.detail, "status": 404}
        after = _number(self.request, "after") or 0
        tree = summary_tree.read_tree(self.session, opened, after)
        return {
            "rows": tree.rows,
            "opened": opened,
            "content": panels.text_block(opened.content) if opened else "",
            "tree_url": self.url(show="summaries"),
            "transcript_url": self.url(),
            "more_url": ""
            if tree.next_after is None
            else self.url(show="summaries", after=tree.next_after),
        }

    def _find_summary(self) -> Summary | None:
        """Return the summary that the URL names; refuse one of another session."""
        asked = self.request.GET.get("summary", "")
        if not asked:
            return None
        found: Summary = explore.find_summary(asked, self.caller, self.project)
        if found.session_id != self.session.pk:
            raise errors.NotFound(f"This session has no summary {asked[:50]!r}.")
        return found

    def context(self) -> dict[str, Any]:
        form = ContextForm(self.request.GET, session=self.session)
        if not form.is_valid():
            return {"form": form, "status": 400}
        data = form.cleaned_data
        found = context_preview.preview_context(
            self.session,
            data["budget"],
            data["tail"],
            self.caller,
            with_memory=data["memory"],
        )
        return {
            "form": form,
            "found": found,
            "most": max(self.session.token_count, data["budget"], 1_000),
            "transcript_url": self.url(),
            "tree_url": self.url(show="summaries"),
            "panels": [_left_out_panel(found)],
        }


def _size_of(session: Session) -> str:
    return (
        f"{session.message_count:,} messages with {session.token_count:,} tokens, "
        f"{session.context_tokens:,} of them in the context"
    )


def _left_out_panel(found: context_preview.ContextPreview) -> Panel:
    return panels.table(
        "Left out",
        ["Messages", "Tokens", "Why"],
        (
            [_range_of(each), f"{each.tokens:,}", each.why]
            for each in found.context.left_out
        ),
        empty="Nothing: the whole session fits, in its summaries and messages.",
        most=context_preview.MAX_SHOWN,
    )


def _range_of(omission: Omission) -> str:
    if not omission.to_seq:
        return "before them"
    return f"{omission.from_seq:,} to {omission.to_seq:,}"


def _number(request: HttpRequest, name: str) -> int | None:
    """Return a seq from the query; None if it is no such number."""
    text = request.GET.get(name, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    return int(text) if is_number else None
