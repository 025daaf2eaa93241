"""Keep the commits of a project's repository: subject and body are one message each.

They are the messages of one session of the project, so that search, erasure and the console
treat them like other messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from common.caller import Caller, Role
from common.db import write
from conversations.formats.message import ChatMessage
from conversations.messages.append import AppendReceipt, append, prepare
from conversations.models import Message, Session
from conversations.queries import MessageQuerySet
from conversations.sessions import lifecycle
from conversations.sessions.lifecycle import COMMITS, SessionDraft
from projects.models import Project

MAX_FILES = 500  # of a commit that are kept
TITLE = "Commits of the repository"
# No compaction: nobody talks in this session.
TOKEN_BUDGET = 2**31 - 1
_TRAILER = re.compile(r"[A-Z][A-Za-z-]{1,40}: \S.{0,400}")


@dataclass(frozen=True)
class Commit:
    """A commit: `id` is its hash, `files` are the paths that it changed."""

    id: str
    subject: str
    body: str
    date: datetime
    files: Sequence[str] = ()


def find_commits(project: Project, caller: Caller) -> MessageQuerySet:
    """Return the messages of commits; whoever reads the project reads them."""
    sessions = Session.objects.filter(project=project, channel=COMMITS, user_id="")
    rows: MessageQuerySet = Message.objects.of_project(caller, project).visible()
    return rows.filter(session__in=sessions.values("pk"))


@write
def record(
    project: Project, commits: Sequence[Commit], caller: Caller
) -> AppendReceipt:
    """Store the commits that are not known yet, the oldest first."""
    caller.require(Role.WRITER, project.pk)
    ordered = sorted(commits, key=lambda each: each.date)
    batch = prepare(project, [_to_message(each) for each in ordered])
    return append(project, _find_or_create(project, caller), batch, caller)


def _find_or_create(project: Project, caller: Caller) -> Session:
    rows = Session.objects.filter(project=project, channel=COMMITS, user_id="")
    found: Session | None = rows.order_by("pk").first()
    if found:
        return found
    taken = Session.objects.filter(project=project, key=COMMITS, user_id="").exists()
    key = f"{COMMITS} {project.pk}" if taken else COMMITS
    return lifecycle.create(
        project,
        SessionDraft(key, channel=COMMITS, title=TITLE, token_budget=TOKEN_BUDGET),
        user_id="",
        agent_id="",
        caller=caller,
    )


def _to_message(commit: Commit) -> ChatMessage:
    body = remove_trailers(commit.body)
    text = f"{commit.subject}\n\n{body}" if body else commit.subject
    return ChatMessage(
        role=Message.MessageRole.USER,
        parts=({"type": "text", "text": text},),
        external_id=commit.id,
        metadata={"files": list(commit.files)},
        created_at=commit.date,
    )


def remove_trailers(body: str) -> str:
    """Return a body without the last paragraph if it has trailers only, such as `Signed-off-by`."""
    start, _, last = body.rstrip().rpartition("\n\n")
    lines = (last or start).splitlines()
    if lines and all(_TRAILER.fullmatch(line.strip()) for line in lines):
        return start.strip() if last else ""
    return body.strip()
