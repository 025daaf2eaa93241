from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html_join

from common.admin import panels
from common.admin.panels import Panel, short_text, time_tag
from common.caller import Role
from console.connect import harness_forms
from console.connect.agent_key_form import AgentKeyForm
from console.project_page import ProjectPage
from mcp_server.hooks import hook_counts
from mcp_server.hooks.hook_counts import HookStatus

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANY_AM = "/path/to/agent-memory/bin/am"


def find_am(address: str) -> str:
    """Return the path of `bin/am`: the real one, if the address is of the service's machine.

    Elsewhere the checkout has another path. The image of a container has no `bin`. Whoever
    asks may choose the address, by a Host or a tunnel, so only an owner may be told the path.
    """
    am = Path(settings.BASE_DIR, "bin", "am")
    is_here = urlsplit(address).hostname in LOOPBACK
    return str(am) if is_here and am.is_file() else ANY_AM


class ConnectPage(ProjectPage):
    """How a coding agent is connected to the project, and which of them have reported."""

    title = "Connect"
    template = "console/connect/connect.html"
    style = "console/connect.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show_page(self._form(None))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Make a key, and answer with it at once: no session and no message stores it."""
        self.require(Role.OWNER)
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show_page(form, status=400)
        return self.show_page(form, secret=form.result)

    def _form(self, data: Any) -> AgentKeyForm:
        return AgentKeyForm(data, project=self.project, caller=self.caller)

    def show_page(
        self, form: AgentKeyForm, secret: str = "", status: int = 200
    ) -> HttpResponse:
        base = settings.PUBLIC_URL or self.request.build_absolute_uri("/")
        address = base.rstrip("/")
        words = ["--server", address, "--project", self.project.name]
        may_own = self.may(Role.OWNER)
        am = find_am(address) if may_own else ANY_AM
        return self.show(
            status=status,
            form=form,
            secret=secret,
            may_own=may_own,
            key_variable=harness_forms.key_variable(),
            command=shlex.join([am, "connect", *words]),
            harnesses=harness_forms.fill(address, self.project),
            panels=[self._events_panel()],
        )

    def _events_panel(self) -> Panel:
        # One more, so that the panel says that there are more.
        most = hook_counts.MAX_STATUS + 1
        rows = hook_counts.find_status(self.project, self.caller, most=most)
        return panels.table(
            "Last event received",
            ["Agent", "Coding agent", "Last event", "Time", "Events"],
            map(_cells, rows),
            empty="No coding agent has reported an event yet. Start a session with one.",
            most=hook_counts.MAX_STATUS,
        )


def _cells(status: HookStatus) -> list[Any]:
    counts = ((f"{kind}: {events:,}",) for kind, events in status.events.items())
    return [
        short_text(status.agent_id, panels.SHORT_LIMIT),
        status.harness,
        status.last_event,
        time_tag(status.last_at),
        format_html_join(", ", "{}", counts),
    ]
