"""Answer an event of a session: count it, and give what is due, once per session."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from ace.repairs import lookup
from common import errors
from common.caller import Caller, Role
from common.ids import uuid7
from common.text.memory_fence import fence
from conversations.sessions import lifecycle
from conversations.sessions.lifecycle import SessionDraft
from conversations.sessions.lookup import look_up
from inference import tokens
from mcp_server.hooks import (
    branch_files,
    failed_call,
    given_line,
    hook_counts,
    prompt,
    pushes,
    session_end,
    session_start,
)
from mcp_server.hooks.given_line import GivenLine, GivenSection, Section
from mcp_server.hooks.harnesses import registry
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import MAX_FILES, EventKind, HookEvent
from mcp_server.models import Push
from memories.models import Memory
from memories.read import exposures as memory_exposures
from memories.read.recalls import note_recalled
from playbook.models import Exposure
from playbook.reading import exposures, withholding
from projects.models import Project

log = structlog.get_logger(__name__)
# A session whose context was compacted or cleared has lost what it was given.
RESTARTS = ("compact", "clear")


@dataclass(frozen=True)
class HookAnswer:
    """What the harness reads, and the files that the given lines are anchored to."""

    body: dict[str, Any]
    files: tuple[str, ...] = ()


def answer(
    caller: Caller, project: Project, harness: str, payload: Mapping[str, Any]
) -> dict[str, Any]:
    """Answer an event; an event that gives nothing, or that is unknown, is answered `{}`."""
    return handle(caller, project, harness, payload).body


def handle(
    caller: Caller,
    project: Project,
    harness: str,
    payload: Mapping[str, Any],
    *,
    named: str = "",
    server: str = "",
    opens_session: bool = False,
) -> HookAnswer:
    """Like `answer`; `named` is the event if the payload lacks it, `server` our address.

    With `opens_session`, the first prompt of a session whose start did not come starts it.
    """
    caller.require(Role.VIEWER, project.pk)
    known = registry.find_harness(harness)
    event = registry.read_event(known, payload, named)
    hook_counts.count(project, known.name, event.kind, caller)
    if event.kind in (EventKind.SESSION_START, EventKind.SUBAGENT_START):
        return _start(caller, project, known, event, server)
    if event.kind is EventKind.PROMPT:
        if opens_session and _is_unknown(project, event, caller):
            return _start_with_prompt(caller, project, known, event, server)
        return _prompt(caller, project, known, event)
    if event.kind in (EventKind.TOOL, EventKind.TOOL_FAILED):
        return _fix(caller, project, known, event)
    if event.kind is EventKind.PRE_COMPACT:
        pushes.forget(project, event, caller)
    if event.kind is EventKind.SESSION_END:
        session_end.note(project, event, caller)
    return HookAnswer({})


def _start(
    caller: Caller, project: Project, harness: Harness, event: HookEvent, server: str
) -> HookAnswer:
    is_subagent = event.kind is EventKind.SUBAGENT_START
    if is_subagent and not event.subagent:
        # Copilot CLI does not name it; each has a context of its own all the same.
        event = replace(event, subagent=str(uuid7()))
    if not is_subagent:
        _open_session(project, event, caller, harness.name)
        if event.source in RESTARTS:
            pushes.forget(project, event, caller)
    branch_files.learn_hashes(project, event, caller)
    switches = project.options.hooks
    if not (switches.subagent_start if is_subagent else switches.session_start):
        return HookAnswer({})
    sections = session_start.find(project, event, caller, server=server)
    return _give_start(caller, project, harness, event, sections)


def _is_unknown(project: Project, event: HookEvent, caller: Caller) -> bool:
    """Whether nothing is known of a session yet: neither its start nor what it was given."""
    if not event.session or pushes.find_given(project, event, caller):
        return False
    return look_up(project, event.session, caller, user_id=caller.user_id) is None


def _start_with_prompt(
    caller: Caller, project: Project, harness: Harness, event: HookEvent, server: str
) -> HookAnswer:
    """Give what is about the prompt first, then what a session starts with."""
    _open_session(project, event, caller, harness.name)
    sections = _find_for_prompt(project, event, caller)
    if project.options.hooks.session_start:
        sections += session_start.find(
            project, event, caller, server=server, before=sections
        )
    return _give_start(caller, project, harness, event, sections)


def _give_start(
    caller: Caller,
    project: Project,
    harness: Harness,
    event: HookEvent,
    sections: Sequence[Section],
) -> HookAnswer:
    return _give(
        caller,
        project,
        harness,
        event,
        sections,
        opening=session_start.OPENING,
        limit=session_start.MAX_TOKENS,
    )


def _prompt(
    caller: Caller, project: Project, harness: Harness, event: HookEvent
) -> HookAnswer:
    return _give(
        caller,
        project,
        harness,
        event,
        _find_for_prompt(project, event, caller),
        opening=prompt.OPENING,
        limit=prompt.MAX_TOKENS,
    )


def _find_for_prompt(
    project: Project, event: HookEvent, caller: Caller
) -> list[Section]:
    if not (project.options.hooks.prompt and event.prompt):
        return []
    return prompt.find(project, event, caller)


def _fix(
    caller: Caller, project: Project, harness: Harness, event: HookEvent
) -> HookAnswer:
    if not project.options.hooks.tool_failed:
        return HookAnswer({})
    fix = failed_call.find(project, event, caller)
    if fix is None:
        return HookAnswer({})
    section = Section("", [failed_call.write_line(fix)], failed_call.MAX_TOKENS)
    given = _give(
        caller, project, harness, event, [section], limit=failed_call.MAX_TOKENS
    )
    if given.body:
        lookup.note_given(
            project, fix, caller, agent_id=exposures.resolve_agent(caller, "")
        )
    return given


def _give(
    caller: Caller,
    project: Project,
    harness: Harness,
    event: HookEvent,
    sections: Sequence[Section],
    *,
    opening: str = "",
    limit: int,
) -> HookAnswer:
    """Give the lines that the session does not have yet, within `limit` tokens.

    A line that stands in two sections is given in the first in which it fits.
    """
    if not any(each.lines for each in sections):
        return HookAnswer({})
    had = pushes.find_given(project, event, caller)
    room = (
        limit
        - given_line.FENCE_TOKENS
        - tokens.estimate(f"{opening}\n" if opening else "")
    )
    chosen = given_line.fit(sections, room, had)
    new = pushes.record(
        project, event, caller, [line for each in chosen for line in each.lines]
    )
    if not new:
        return HookAnswer({})
    rules = _ids(new, Push.PushKind.RULE)
    withheld = withholding.draw(project, rules, caller, event.session)
    _note_given(project, event, new, caller, withheld=withheld)
    names = {str(pk) for pk in withheld}
    new = [line for line in new if line.subject not in names]
    if not new:
        return HookAnswer({})
    files = dict.fromkeys(path for line in new for path in line.files)
    text = fence(_write(opening, chosen, new))
    return HookAnswer(harness.write(event, text), tuple(files)[:MAX_FILES])


def _write(
    opening: str, sections: Sequence[GivenSection], new: Sequence[GivenLine]
) -> str:
    written = [opening] if opening else []
    for section in sections:
        lines = [line.text for line in section.lines if line in new]
        if lines:
            written += [section.heading, *lines] if section.heading else lines
    return "\n".join(written)


def _note_given(
    project: Project,
    event: HookEvent,
    lines: Sequence[GivenLine],
    caller: Caller,
    *,
    withheld: Collection[uuid.UUID],
) -> None:
    """Record the rules and memories, which the next finished task is credited with."""
    agent_id = exposures.resolve_agent(caller, "")
    exposures.record(
        project,
        dict.fromkeys(_ids(lines, Push.PushKind.RULE)),
        caller,
        source=Exposure.ExposureSource.CONTEXT,
        agent_id=agent_id,
        session=event.session,
        withheld=withheld,
    )
    rows = Memory.objects.visible_to(caller).light()
    memories = rows.in_bulk(_ids(lines, Push.PushKind.MEMORY))
    memory_exposures.record(project, memories, caller, agent_id=agent_id)
    note_recalled(memories.values())


def _ids(lines: Sequence[GivenLine], kind: Push.PushKind) -> list[uuid.UUID]:
    return [uuid.UUID(line.subject) for line in lines if line.kind == kind]


def _open_session(
    project: Project, event: HookEvent, caller: Caller, channel: str
) -> None:
    """Open the session under the harness's id, if the caller may write.

    A session of another agent, or one too many, stays closed: an agent never fails for it.
    """
    if not (event.session and caller.may(Role.WRITER, project.pk)):
        return
    try:
        lifecycle.bootstrap(
            project, SessionDraft(event.session, channel=channel), caller
        )
    except errors.Refusal as refusal:
        log.warning("hook_session_not_opened", code=refusal.code)
