from __future__ import annotations

import functools
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse

from common import errors
from common.admin import panels
from common.admin.panels import Panel, row_link, short_text, time_tag
from common.api.serializers import represent
from common.caller import Role
from console import list_urls
from console.people.agent_memory_form import AgentMemoryForm
from console.people.text_history import view_changes
from console.project_page import ProjectPage
from console.session_links import person_link, session_link
from conversations.agent_memory import constraints, texts
from conversations.agent_memory.pair import MemoryPair, resolve_pair
from conversations.agent_memory.person import PersonMemory, describe_person
from conversations.models import AgentMemory, Session
from conversations.serializers.person import PersonOut
from conversations.sessions.lookup import read_user_id

MAX_ID = 255  # characters of a user or an agent
MAX_PEOPLE = 100
MAX_SHOWN = 20  # sessions and memories of a person


class PersonPage(ProjectPage):
    """What is known about the user of `?user=`; without one, the users of the project."""

    title = "People"
    template = "console/people/person.html"
    style = "console/sessions.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        asked = request.GET.get("user", "")[:MAX_ID].replace("\0", "")
        if not asked:
            return self.show(panels=[self._people_panel()])
        user_id = read_user_id(asked)
        if "download" in request.GET:
            return self._download(user_id)
        found = describe_person(self.project, user_id, self.caller, most=MAX_SHOWN)
        return self.show(
            person=found,
            name=short_text(user_id or "anonymous"),
            asked=asked,
            panels=list(self._panels(found)),
            may_purge=self.may(Role.OWNER) and bool(user_id),
            download=f"?{urlencode({**self._query(asked), 'download': 'json'})}",
        )

    def _query(self, asked: str) -> dict[str, Any]:
        return {"project": self.project.pk, "user": asked}

    def _download(self, user_id: str) -> HttpResponse:
        found = describe_person(self.project, user_id, self.caller)
        return JsonResponse(
            represent(PersonOut, found),
            json_dumps_params={"indent": 2, "ensure_ascii": False},
            headers={"Content-Disposition": 'attachment; filename="person.json"'},
        )

    def _people_panel(self) -> Panel:
        rows = Session.objects.visible_to(self.caller, self.project).order_by()
        people = rows.values("user_id").annotate(
            sessions=Count("pk"), newest=Max("last_active")
        )
        return panels.table(
            "Users with sessions",
            ["User", "Sessions", "Last active"],
            (
                [
                    person_link(self.project.pk, one["user_id"]),
                    f"{one['sessions']:,}",
                    time_tag(one["newest"]),
                ]
                for one in people.order_by("-newest")[: MAX_PEOPLE + 1]
            ),
            empty="No session yet.",
            most=MAX_PEOPLE,
        )

    def _panels(self, found: PersonMemory) -> Any:
        yield panels.table(
            f"Notes of agents ({found.counts['agent_memories']:,})",
            ["Agent", "Profile", "Constraints", "Changed"],
            (self._notes_row(each) for each in found.agent_memories),
            empty="No agent keeps notes about this user.",
            most=MAX_SHOWN,
        )
        yield panels.table(
            f"Sessions ({found.counts['sessions']:,})",
            ["Session", "Agent", "Messages", "Last active"],
            (
                [
                    session_link(each),
                    short_text(each.agent_id, panels.SHORT_LIMIT),
                    f"{each.message_count:,}",
                    time_tag(each.last_active),
                ]
                for each in found.sessions
            ),
            empty="None.",
            most=MAX_SHOWN,
        )
        yield panels.table(
            f"Memories ({found.counts['memories']:,})",
            ["Memory", "Type", "Created"],
            (
                [
                    row_link("memories_memory", each.pk, each),
                    each.get_memory_type_display(),
                    time_tag(each.created_at),
                ]
                for each in found.memories
            ),
            empty="None belongs to this user.",
            most=MAX_SHOWN,
        )

    def _notes_row(self, notes: AgentMemory) -> list[Any]:
        url = agent_memory_url(self.project.pk, notes.user_id, notes.agent_id)
        return [
            list_urls.link(url, notes.agent_id[: panels.SHORT_LIMIT]),
            short_text(notes.profile),
            f"{len(notes.constraints):,}",
            time_tag(notes.updated_at),
        ]


def agent_memory_url(project_id: Any, user_id: str, agent_id: str) -> str:
    query = urlencode(
        {"project": project_id, "user": user_id or "0", "agent": agent_id}
    )
    return f"{reverse('console:agent_memory')}?{query}"


class AgentMemoryPage(ProjectPage):
    """Profile, soul and constraints of an agent and a user, with their history."""

    title = "Agent memory"
    template = "console/people/agent_memory.html"
    style = "console/sessions.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render_page()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save a text, add or remove a constraint, or roll a text back."""
        self.require(Role.WRITER)
        if self.pair is None:
            return self.render_page(status=404)
        form = AgentMemoryForm(request.POST, pair=self.pair, caller=self.caller)
        if not form.is_valid():
            return self.render_page(form, status=400)
        messages.success(request, form.result)
        return redirect(
            agent_memory_url(self.project.pk, self.pair.user_id, self.pair.agent_id)
        )

    @functools.cached_property
    def pair(self) -> MemoryPair | None:
        """The pair that the query names; None without an agent."""
        user = self.request.GET.get("user", "")[:MAX_ID].replace("\0", "")
        agent = self.request.GET.get("agent", "")[:MAX_ID].replace("\0", "")
        if not agent:
            return None
        try:
            return resolve_pair(
                self.project, self.caller, user_id=read_user_id(user), agent_id=agent
            )
        except errors.Refusal:
            return None

    def render_page(
        self, form: AgentMemoryForm | None = None, status: int = 200
    ) -> HttpResponse:
        if self.pair is None:
            return self.show(panels=[self._pairs_panel()], status=status)
        memory = self.pair.find()
        kept = form.data if form else {}
        listed = constraints.list_constraints(self.pair).constraints
        return self.show(
            status=status,
            pair=self.pair,
            memory=memory,
            agent=short_text(self.pair.agent_id),
            person=person_link(self.project.pk, self.pair.user_id),
            texts=[
                {
                    "scope": scope,
                    "shown": panels.text_block(getattr(memory, scope)),
                    # After a refusal, the page still contains what the person typed.
                    "text": kept["text"]
                    if kept.get("action") == scope
                    else getattr(memory, scope),
                }
                for scope in texts.SCOPES
            ],
            constraints=[
                {"id": each["id"], "text": short_text(each["text"], 2_000)}
                for each in listed
            ],
            kept_constraint=kept.get("text", "") if kept.get("action") == "add" else "",
            changes=view_changes(self.pair, self.caller),
            may_write=self.may(Role.WRITER),
            form=form,
            most=texts.MAX_CHARACTERS,
        )

    def _pairs_panel(self) -> Panel:
        rows = AgentMemory.objects.visible_to(self.caller, self.project)
        return panels.table(
            "Agents and users",
            ["Agent", "User", "Profile", "Constraints", "Changed"],
            (
                [
                    list_urls.link(
                        agent_memory_url(self.project.pk, each.user_id, each.agent_id),
                        each.agent_id[: panels.SHORT_LIMIT],
                    ),
                    person_link(self.project.pk, each.user_id),
                    short_text(each.profile),
                    f"{len(each.constraints):,}",
                    time_tag(each.updated_at),
                ]
                for each in rows.order_by("-updated_at")[: MAX_PEOPLE + 1]
            ),
            empty="No agent keeps notes yet. Agents write them with "
            "PUT /api/v1/agent-memory/profile.",
            most=MAX_PEOPLE,
        )
