"""What was decided about a prompt in earlier conversations and commits."""

from __future__ import annotations

import uuid

from common.caller import Caller
from context.decisions import decide, lines
from context.decisions.decide import Decision
from context.headings import HEADINGS
from mcp_server.hooks import pushes
from mcp_server.hooks.given_line import GivenLine, Section
from mcp_server.hooks.hook_event import HookEvent
from mcp_server.models import Push
from projects.models import Project


def find(
    project: Project, event: HookEvent, caller: Caller, *, max_tokens: int
) -> list[Section]:
    """Return the decisions about a prompt that the session does not have yet."""
    given = pushes.find_given(project, event, caller)
    said = {uuid.UUID(each) for kind, each in given if kind == Push.PushKind.DECISION}
    found = decide.find(project, event.prompt, caller, session=event.session, said=said)
    given_lines = [_write(each) for each in found.given]
    heading = HEADINGS["decisions"]
    return [Section(heading, given_lines, max_tokens)] if given_lines else []


def _write(decision: Decision) -> GivenLine:
    text = lines.write(decision)
    return GivenLine(Push.PushKind.DECISION, str(decision.answer.id), text)
