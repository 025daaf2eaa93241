"""The fix of a call at the moment of its failure."""

from __future__ import annotations

from ace.repairs import lookup
from ace.repairs.lookup import KnownFix
from ace.task import task as tasks
from common.caller import Caller
from common.text import literals
from mcp_server.hooks.given_line import GivenLine
from mcp_server.hooks.hook_event import EndedCall, HookEvent
from mcp_server.models import Push
from projects.models import Project

MAX_TOKENS = 150
MAX_RESULT = 100_000  # characters; its edges are read


def find(project: Project, event: HookEvent, caller: Caller) -> KnownFix | None:
    """Return the fix of a call that failed, if it may be said to the caller.

    `ace.repairs` has the gates: a call that worked, tests, compilers and the etiquette of a
    harness have no fix.
    """
    if event.call is None:
        return None
    fix = lookup.choose(
        lookup.suggest(
            project,
            tasks.parse_ended_call(_to_request(event.call, event.cwd)),
            caller,
            but_session=event.session,
        )
    )
    return None if fix and _names_gone_file(fix, event) else fix


def _to_request(call: EndedCall, cwd: str) -> dict[str, object]:
    result = call.result
    if len(result) > MAX_RESULT:
        half = MAX_RESULT // 2
        result = f"{result[:half]}\n{result[-half:]}"
    request = {
        "tool": call.tool,
        "arguments": call.arguments,
        "result": result,
        "cwd": cwd,
    }
    return request | ({"is_error": True} if call.has_failed else {})


def _names_gone_file(fix: KnownFix, event: HookEvent) -> bool:
    gone = {path for path, digest in event.hashes.items() if digest is None}
    return bool(gone and gone & set(literals.find_paths(fix.words.worked)))


def write_line(fix: KnownFix) -> GivenLine:
    return GivenLine(
        Push.PushKind.FIX,
        fix.cure.signature.digest,
        fix.text,
    )
