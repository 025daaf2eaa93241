"""What a person has told their own agents to do from now on, while it waits for a curator.

They have told it in two sessions, or said that it lasts.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import date

from django.utils import timezone

from access.restored_caller import caller_of
from ace.models import AceRun
from ace.repairs import record
from common.caller import Caller
from common.text import secrets
from common.text.quote import json_string
from context.memory_lines import EarlierTexts
from mcp_server.hooks.given_line import GivenLine
from mcp_server.models import Push
from playbook.models import PlaybookDelta
from playbook.proposals.proposed_change import LASTING_SIGNATURE, WISH_SIGNATURE
from playbook.rule_text import unsafe_phrases
from projects.models import Project
from projects.own_hosts import find_own_hosts

MAX_WISHES = 10  # of a person; the newest come first
MAX_READ = 100  # waiting wishes of all persons
MAX_QUOTE = 200  # characters
# How `ace.reflect.repeated_wishes` names the run that had the wish first.
_EARLIER = re.compile(r"\bRun ([0-9a-f-]{36}) had it before\.\Z")


def find(
    project: Project, caller: Caller, *, session: str, said: Iterable[str]
) -> list[GivenLine]:
    """Return the waiting wishes of the caller's person, each as a quote with its dates.

    The sessions that told a wish have it already. A rejection ends a wish, and an
    accepted one is a rule. A wish that `said` says already is left out.
    """
    earlier = EarlierTexts()
    earlier.add(*said)
    rows = PlaybookDelta.objects.visible_to(caller).filter(
        project=project, payload__signature__startswith=WISH_SIGNATURE
    )
    deltas = list(rows.pending().order_by("-pk")[:MAX_READ])
    runs = _own_runs(project, deltas, caller) if deltas else {}
    lines = []
    for delta in deltas:
        told = [runs[pk] for pk in _run_ids(delta) if pk in runs]
        sessions = {record.session_of(run) for run in told}
        if len(sessions) >= _least_sessions(delta) and session not in sessions:
            days = sorted({timezone.localdate(run.created_at) for run in told})
            lines += _write(project, delta, days, earlier)
    return lines[:MAX_WISHES]


def _least_sessions(delta: PlaybookDelta) -> int:
    """Return in how many sessions a person must have told a wish: one, if it says it lasts."""
    return 1 if delta.payload["signature"].startswith(LASTING_SIGNATURE) else 2


def _own_runs(
    project: Project, deltas: Iterable[PlaybookDelta], caller: Caller
) -> Mapping[uuid.UUID, AceRun]:
    """Return the runs of the wishes that the caller's person has reported."""
    ids = [pk for delta in deltas for pk in _run_ids(delta)]
    rows = AceRun.objects.visible_to(caller).filter(project=project, pk__in=ids)
    senders: dict[tuple[object, ...], bool] = {}
    own = {}
    for run in rows.select_related("memory").defer("result", "phases"):
        sender = (run.key_id, run.account_id, run.actor)
        if sender not in senders:
            senders[sender] = bool(caller_of(run).own_names & caller.own_names)
        if senders[sender]:
            own[run.pk] = run
    return own


def _run_ids(delta: PlaybookDelta) -> list[uuid.UUID]:
    """Return the run that proposed the wish, and the one that had it before."""
    earlier = _EARLIER.search(delta.reason)
    ids = [delta.run_id, uuid.UUID(earlier[1]) if earlier else None]
    return [pk for pk in ids if pk]


def _write(
    project: Project,
    delta: PlaybookDelta,
    days: Iterable[date],
    earlier: EarlierTexts,
) -> list[GivenLine]:
    """Return the line of a wish, if its words pass the gates of danger and secrets."""
    quotes = (each.get("quote") for each in delta.evidence if isinstance(each, dict))
    quote = next((str(each) for each in quotes if each), "")
    hosts = find_own_hosts(project)
    if not (quote and secrets.is_clean(quote)) or earlier.has(quote):
        return []
    if unsafe_phrases.find_phrases(quote, hosts):
        return []
    return [GivenLine(Push.PushKind.WISH, str(delta.pk), write_text(quote, days))]


def write_text(quote: str, days: Iterable[date]) -> str:
    asked = " and ".join(f"{day:%Y-%m-%d}" for day in days)
    return f"- asked on {asked}: {json_string(quote, MAX_QUOTE)}; waits in the inbox"
