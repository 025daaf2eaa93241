from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString

from agents.models import AgentRun, AgentTool
from common.admin import panels
from common.admin.panels import Panel, short_text, time_tag
from common.caller import Role
from console.agents import trace
from console.agents.run_forms import AgentSettingsForm, RunActionForm, RunListForm
from console.list_urls import link
from console.project_page import ProjectPage
from console.session_links import person_link, session_url
from projects import model_access

PAGE = 50  # runs of one page
MOST_TOOLS = 200


class RunsPage(ProjectPage):
    """The runs of the agent, the newest first."""

    title = "Agent runs"
    template = "console/agents/runs.html"
    style = "console/sessions.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        form = RunListForm(request.GET, auto_id="ss-%s")
        if not form.is_valid():
            return self.show(form=form, status=400)
        rows = AgentRun.objects.visible_to(self.caller, self.project)
        rows = rows.filter(**form.columns)
        if before := _id(request.GET.get("before", "")):
            rows = rows.filter(pk__lt=before)
        found = list(rows.defer("steps", "memory", "learned")[: PAGE + 1])
        return self.show(
            form=form,
            has_model=model_access.is_enabled(self.project),
            panels=[self._panel(found[:PAGE])],
            next_url=self._next_url(found),
        )

    def _panel(self, rows: list[AgentRun]) -> Panel:
        return panels.table(
            "Runs",
            ["Question", "Status", "User", "Agent", "Calls", "Tokens", "Began"],
            (self._row(run) for run in rows),
            empty="No run. Agents run with POST /api/v1/agents/react-mem; "
            "manage.py demo_agent shows one.",
            most=PAGE,
        )

    def _row(self, run: AgentRun) -> list[Any]:
        url = run_url(self.project.pk, run.pk)
        return [
            link(url, short_text(run)),
            run.get_status_display(),
            person_link(self.project.pk, run.user_id, run.agent_id),
            short_text(run.agent_id, panels.SHORT_LIMIT),
            f"{run.iterations:,}",
            f"{run.prompt_tokens + run.answer_tokens:,}",
            time_tag(run.created_at),
        ]

    def _next_url(self, found: list[AgentRun]) -> str:
        if len(found) <= PAGE:
            return ""
        query = self.request.GET.copy()
        query["before"] = str(found[PAGE - 1].pk)
        return f"?{query.urlencode()}"


class RunPage(ProjectPage):
    """One run as a trace."""

    title = "Agent run"
    template = "console/agents/run.html"
    style = "console/sessions.css"

    def get(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        run = self._find(run_id)
        return self.show_run(run) if run else self.show_missing()

    def post(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        """Allow or forbid the call that waits, or cancel the run."""
        run = self._find(run_id)
        if run is None:
            return self.show_missing()
        self.require(Role.WRITER)
        form = RunActionForm(request.POST, run=run, caller=self.caller)
        if not form.is_valid():
            return self.show_run(run, form, status=400)
        messages.success(request, form.result)
        return redirect(request.get_full_path())

    def show_missing(self) -> HttpResponse:
        return self.render("console/agents/missing.html", status=404)

    def _find(self, run_id: uuid.UUID) -> AgentRun | None:
        rows = AgentRun.objects.visible_to(self.caller, self.project)
        run: AgentRun | None = rows.select_related("project").filter(pk=run_id).first()
        return run

    def show_run(
        self, run: AgentRun, form: RunActionForm | None = None, status: int = 200
    ) -> HttpResponse:
        waits = run.status == AgentRun.RunStatus.CONFIRMING
        return self.show(
            status=status,
            run=run,
            question=panels.text_block(run.request.get("question", "")),
            person=person_link(self.project.pk, run.user_id),
            session=self._session_link(run),
            steps=trace.view_steps(run),
            answer=panels.text_block(run.answer),
            error=panels.text_block((run.error or {}).get("message", "")),
            memory_error=panels.text_block(run.memory.get("error") or ""),
            pending=panels.json_block(run.pending_call) if waits else "",
            is_unfinished=run.ended_at is None,
            may_write=self.may(Role.WRITER),
            action_form=form,
            refused=trace.refusals_of(run),
            panels=list(trace.memory_panels(run, self.caller)),
        )

    def _session_link(self, run: AgentRun) -> SafeString | str:
        if run.session_id is None:
            return ""
        url = session_url(self.project.pk, run.session_id)
        return link(url, short_text(run.conversation_id, panels.SHORT_LIMIT))


class AgentPage(ProjectPage):
    """The settings of the agent as a form, and its tools."""

    title = "Agent"
    template = "console/agents/agent.html"
    style = "console/sessions.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        form = AgentSettingsForm(None, project=self.project, caller=self.caller)
        return self.show_agent(form)

    def post(self, request: HttpRequest) -> HttpResponse:
        self.require(Role.OWNER)
        form = AgentSettingsForm(request.POST, project=self.project, caller=self.caller)
        if not form.is_valid():
            return self.show_agent(form, status=400)
        messages.success(request, form.result)
        return redirect(request.get_full_path())

    def show_agent(self, form: AgentSettingsForm, status: int = 200) -> HttpResponse:
        return self.show(
            status=status,
            form=form,
            may_own=self.may(Role.OWNER),
            has_model=model_access.is_enabled(self.project),
            panels=[self._tools_panel()],
        )

    def _tools_panel(self) -> Panel:
        tools = AgentTool.objects.visible_to(self.caller, self.project)
        return panels.table(
            "Tools",
            [
                "MCP server",
                "What it is for",
                "Groups",
                "States",
                "Before it acts",
                "On",
            ],
            (
                [
                    short_text(tool.name, panels.SHORT_LIMIT),
                    short_text(tool.description),
                    short_text(", ".join(tool.groups), panels.SHORT_LIMIT),
                    short_text(", ".join(tool.states), panels.SHORT_LIMIT),
                    tool.get_confirm_display(),
                    "yes" if tool.is_enabled else "no",
                ]
                for tool in tools[: MOST_TOOLS + 1]
            ),
            empty="No tool beyond memory. An owner adds MCP servers with "
            "POST /api/v1/agents/tools.",
            most=MOST_TOOLS,
        )


def run_url(project_id: uuid.UUID, run_id: uuid.UUID) -> str:
    page = reverse("console:agent_run", args=[run_id])
    return f"{page}?{urlencode({'project': project_id})}"


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
