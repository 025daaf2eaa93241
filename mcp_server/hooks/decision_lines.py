"""What was decided about a prompt in earlier conversations and commits."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from common.caller import Caller
from context.decisions import decide
from context.decisions.decide import Decision
from mcp_server.hooks import pushes
from mcp_server.hooks.given_line import GivenLine, Section
from mcp_server.hooks.hook_event import HookEvent
from mcp_server.models import Push
from projects.models import Project

HEADING = "Decided earlier about this, as it was said:"


def find(
    project: Project, prompt: str, event: HookEvent, caller: Caller, *, max_tokens: int
) -> list[Section]:
    """Return the decisions about a prompt that the session does not have yet."""
    given = pushes.find_given(project, event, caller)
    said = {uuid.UUID(each) for kind, each in given if kind == Push.PushKind.DECISION}
    found = decide.find(project, prompt, caller, session=event.session, said=said)
    lines = [_write(each) for each in found.given]
    return [Section(HEADING, lines, max_tokens)] if lines else []


def _write(decision: Decision) -> GivenLine:
    text = "\n".join(_lines(decision))
    return GivenLine(Push.PushKind.DECISION, str(decision.answer.id), text)


def _lines(decision: Decision) -> Iterator[str]:
    kind = "commit" if decision.answer.is_commit else "conversation"
    later = " (later: it holds where they differ)" if decision.answer.is_latest else ""
    yield f"- {decision.quote.moment:%Y-%m-%d}, {kind}{later}:"
    yield from decision.quote.lines
