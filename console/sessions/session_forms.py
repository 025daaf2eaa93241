"""The forms of the pages of sessions."""

from __future__ import annotations

from typing import Any

from django import forms

from common.admin.action_forms import ApplyMixin
from common.caller import Caller, Role
from conversations.compaction import compaction_need
from conversations.compaction.compact import CompactionMode
from conversations.compaction.compaction_job import compact_in_job
from conversations.compaction.context import FRESH_TAIL
from conversations.messages import undo
from conversations.models import Session
from conversations.serializers.sessions import MAX_BUDGET
from conversations.session_search.search import SearchFilters
from conversations.sessions.lifecycle import update_session
from conversations.sessions.lookup import read_user_id
from conversations.sessions.session_list import SessionFilters
from conversations.stores import require

MAX_TAIL = 1_000  # messages of the fresh tail that the page can ask for
MAX_QUERY = 1_000  # characters


class SessionListForm(forms.Form):
    """Which sessions to list; every field may be empty."""

    q = forms.CharField(
        label="Find",
        required=False,
        max_length=MAX_QUERY,
        widget=forms.TextInput(
            {"type": "search", "placeholder": "words, a title or a key"}
        ),
    )
    user = forms.CharField(
        label="User",
        required=False,
        max_length=255,
        widget=forms.TextInput({"placeholder": "0 is anonymous"}),
    )
    agent = forms.CharField(label="Agent", required=False, max_length=255)
    channel = forms.CharField(label="Channel", required=False, max_length=100)
    archived = forms.BooleanField(label="Archived too", required=False)

    @property
    def filters(self) -> SessionFilters:
        data = self.cleaned_data
        return SessionFilters(
            text=data["q"],
            user_id=read_user_id(data["user"]) if data["user"] else None,
            agent_id=data["agent"],
            channel=data["channel"],
            include_archived=data["archived"],
        )

    @property
    def search_filters(self) -> SearchFilters:
        """Return the same filters for the search in messages, which finds by `q`."""
        filters = self.filters
        return SearchFilters(
            user_id=filters.user_id, agent_id=filters.agent_id, channel=filters.channel
        )


class ContextForm(forms.Form):
    """The budget and the fresh tail of the context that the page shows."""

    budget = forms.IntegerField(label="Budget", min_value=1, max_value=MAX_BUDGET)
    tail = forms.IntegerField(label="Fresh tail", min_value=0, max_value=MAX_TAIL)
    memory = forms.BooleanField(
        label="With soul, profile and constraints", required=False
    )

    def __init__(self, data: Any, *, session: Session) -> None:
        budget = compaction_need.budget_of(session.project, session)
        defaults = {"budget": budget, "tail": FRESH_TAIL, "memory": True}
        super().__init__(
            data if "budget" in data else defaults,
            auto_id="cx-%s",
        )


class SessionActionForm(ApplyMixin, forms.Form):
    """One action on a session; `done` says what was done."""

    action = forms.ChoiceField(
        choices=[(n, n) for n in ("archive", "restore", "compact", "undo", "redact")]
    )
    seq = forms.IntegerField(min_value=1, required=False)
    reason = forms.CharField(max_length=500, required=False)

    def __init__(self, data: Any, *, session: Session, caller: Caller) -> None:
        super().__init__(data)
        self.session, self.caller = session, caller

    def clean(self) -> None:
        action = self.cleaned_data.get("action")
        if action in ("undo", "redact") and not self.cleaned_data.get("seq"):
            self.add_error("seq", "Name the message.")
        if action == "redact" and not self.cleaned_data.get("reason"):
            self.add_error("reason", "Say why; the audit keeps it.")

    def apply(self) -> str:
        """Do it, and return a sentence about it."""
        self.caller.require(Role.WRITER, self.session.project_id)
        action: str = self.cleaned_data["action"]
        done: str = getattr(self, f"_{action}")()
        return done

    def _archive(self) -> str:
        update_session(self.session, {"archived": True}, self.caller)
        return "The session is archived."

    def _restore(self) -> str:
        update_session(self.session, {"archived": False}, self.caller)
        return "The session is restored."

    def _compact(self) -> str:
        require(self.session.project, self.caller, "compactor")
        compact_in_job(self.session, CompactionMode.FULL, self.caller)
        return "A job compacts the session. Reload the page to see its summaries."

    def _undo(self) -> str:
        count = undo.hide_from(self.session, self.cleaned_data["seq"], self.caller)
        return f"{count:,} messages are hidden; none is destroyed."

    def _redact(self) -> str:
        seq, reason = self.cleaned_data["seq"], self.cleaned_data["reason"]
        undo.redact(self.session, seq, reason, self.caller)
        return f"The text of message {seq} is gone for good."
