"""Keep the commits of a project's repository: subject and body are one message each.

They are the messages of one session of the project, so that search, erasure and the console
treat them like other messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text import plain_text
from conversations.formats.message import ChatMessage
from conversations.messages.append import AppendReceipt, MessageBatch, append, prepare
from conversations.models import Message, Session
from conversations.queries import MessageQuerySet
from conversations.sessions import lifecycle
from conversations.sessions.lifecycle import COMMITS, SessionDraft
from projects.models import Project
from projects.secret_policy import SecretFound

MAX_FILES = 500  # of a commit that are kept
TITLE = "Commits of the repository"
# No compaction: nobody talks in this session.
TOKEN_BUDGET = 2**31 - 1
# Lines that git and forges write, which have names and addresses of persons.
_TRAILER = re.compile(
    r"(?:[a-z][a-z-]{0,40}-by|change-id|reviewed-on|cc)[ \t]*:.*"
    r"|\(cherry picked from commit .*",
    re.IGNORECASE,
)
_BLANK_LINES = re.compile(r"\n[ \t]*\n")


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
    """Store the commits that are not known yet, the oldest first.

    Where the project refuses secrets, a commit that has one is left out and noted.
    """
    _require_sender(project, caller)
    batch = _prepare(project, commits, caller)
    session = _find_or_create(project, caller)
    return append(project, session, batch, caller, is_of_commits=True)


def _require_sender(project: Project, caller: Caller) -> None:
    """Refuse the key of one user: commits are quoted to everybody in the project."""
    caller.require(Role.WRITER, project.pk)
    if caller.user_id:
        raise errors.Forbidden(
            "A key that is bound to a user cannot send commits, which everybody in the "
            "project is given; send them with a key of the project."
        )


def _prepare(
    project: Project, commits: Sequence[Commit], caller: Caller
) -> MessageBatch:
    messages: list[ChatMessage] = []
    notes: list[str] = []
    for commit in sorted(commits, key=lambda each: each.date):
        try:
            batch = prepare(project, [_build_message(commit, caller)])
        except SecretFound as refusal:
            notes.append(describe_left_out(commit.id, refusal.detail))
            continue
        messages += batch.messages
        notes += batch.notes
    return MessageBatch(tuple(messages), tuple(dict.fromkeys(notes)))


def describe_left_out(name: str, reason: str) -> str:
    """Return the note about a commit that was not stored."""
    return f"Left out {name}: {reason}"


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


def _build_message(commit: Commit, caller: Caller) -> ChatMessage:
    body = remove_trailers(commit.body)
    text = f"{commit.subject}\n\n{body}" if body else commit.subject
    return ChatMessage(
        role=Message.MessageRole.USER,
        parts=({"type": "text", "text": text},),
        external_id=commit.id,
        metadata={"files": list(commit.files), "sent_by": caller.agent_id_for("")},
        created_at=commit.date,
    )


def remove_trailers(body: str) -> str:
    """Return a body without the trailers of its last paragraph, such as `Signed-off-by`.

    A paragraph that has nothing else goes whole, and the one before it is then the last.
    """
    paragraphs = _BLANK_LINES.split(plain_text.with_newlines(body).strip())
    while paragraphs:
        last = _leave_out_trailers(paragraphs[-1].split("\n"))
        if last:
            return "\n\n".join([*paragraphs[:-1], "\n".join(last)]).strip()
        paragraphs.pop()
    return ""


def _leave_out_trailers(lines: list[str]) -> list[str]:
    """Leave out trailers, and the lines behind one that are indented: they continue it."""
    kept = []
    is_trailer = False
    for line in lines:
        is_trailer = (is_trailer and line[:1].isspace()) or bool(
            _TRAILER.fullmatch(line.strip())
        )
        if not is_trailer:
            kept.append(line)
    return kept
