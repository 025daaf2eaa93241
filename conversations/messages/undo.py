"""Hide messages from the end of a session, and redact one message.

Both change what summaries were made of, so the summaries over the messages are dissolved:
their messages and children return to the context, and a later compaction summarizes again.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max
from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.compaction import compaction_need
from conversations.formats.message import ChatMessage, Part
from conversations.messages.append import clip_title, count_tokens, title_of
from conversations.models import Message, Session, Summary
from conversations.search_index import search_columns
from conversations.sessions import writers
from conversations.sessions.record import audit
from conversations.summarizers import ExtractiveSummarizer
from projects import search_language

REDACTED = "[redacted]"


@write
def hide_from(session: Session, from_seq: int, caller: Caller) -> int:
    """Hide the messages from a seq to the end; return how many were hidden.

    Nothing is destroyed, and the seqs are not given again.
    """
    caller.require(Role.WRITER, session.project_id)
    locked = writers.lock(session, caller)
    rows = locked.messages.visible().filter(seq__gte=from_seq)
    _dissolve(locked, from_seq, locked.last_seq)
    count = rows.count()
    if not count:
        return 0
    tokens = rows.sum_tokens()
    rows.update(hidden_at=timezone.now())
    locked.message_count -= count
    locked.token_count -= tokens
    locked.context_tokens -= tokens
    locked.save()
    audit(caller, "session.undo", locked, from_seq=from_seq, messages=count)
    return count


@write
def redact(session: Session, seq: int, reason: str, caller: Caller) -> Message:
    """Replace the text of one message by `[redacted]`, for good.

    Calls and results keep their ids and names, so that the pairs still match.
    """
    caller.require(Role.WRITER, session.project_id)
    locked = writers.lock(session, caller)
    message = locked.messages.light().filter(seq=seq).first()
    if message is None:
        raise errors.NotFound(f"The session has no message {seq}.")
    if message.redacted_at is None:
        # A title that was made before it left out the words of a harness has them all.
        whole = clip_title(search_columns.words_of(message))
        if locked.title and locked.title in (title_of([message]), whole):
            locked.title = REDACTED
            locked.save(update_fields=["title"])
        _dissolve(locked, seq, _last_that_may_quote(locked, seq))
        message.refresh_from_db(fields=["leaf"])
        _redact_row(locked, message)
        audit(caller, "session.redact", locked, seq=seq, reason=reason)
        if compaction_need.is_compaction_due(locked.project, locked):
            compaction_need.compact_later(locked)
    found: Message = message
    return found


def _last_that_may_quote(session: Session, seq: int) -> int:
    """Return the last seq of the summaries that may have words of a message.

    A language model reads the summary before a text, which may quote the one before it. So
    every summary by a model after the message is among them.
    """
    later = Summary.objects.filter(session=session, first_seq__gt=seq)
    by_model = later.exclude(summarizer=ExtractiveSummarizer.name)
    return by_model.aggregate(last=Max("last_seq"))["last"] or seq


def _redact_row(session: Session, message: Message) -> None:
    parts = tuple(map(_redact_part, message.parts))
    redacted = ChatMessage(message.role, parts)
    before, message.tokens = message.tokens, count_tokens(redacted)
    message.parts, message.text = list(parts), redacted.text
    message.metadata, message.has_words = {}, False
    message.redacted_at = timezone.now()
    language = search_language.pin_language(session.project_id)
    search_columns.fill_message(message, language)
    message.save()
    message.vectors.all().delete()
    if message.hidden_at is None:
        session.token_count += message.tokens - before
        session.context_tokens += message.tokens - before
        session.save()


def _redact_part(part: Part) -> Part:
    kept: Part = {name: part[name] for name in ("type", "id", "name") if name in part}
    if part["type"] == "tool_call":
        return {**kept, "arguments": {}}
    if part["type"] == "tool_result":
        return {**kept, "content": REDACTED, "is_error": part["is_error"]}
    return {"type": "text", "text": REDACTED}


def _dissolve(session: Session, first_seq: int, last_seq: int) -> None:
    """Delete the summaries over a range of messages, and put back what they replaced."""
    rows = Summary.objects.filter(
        session=session, first_seq__lte=last_seq, last_seq__gte=first_seq
    )
    summaries: Sequence[Summary] = list(
        rows.only("parent", "tokens").order_by("-depth")
    )
    if not summaries:
        return
    ids = {each.pk for each in summaries}
    leafless = Message.objects.filter(leaf__in=ids)
    children = Summary.objects.filter(parent__in=ids).exclude(pk__in=ids)
    added = leafless.visible().sum_tokens() + children.sum_tokens()
    removed = sum(each.tokens for each in summaries if each.parent_id is None)
    leafless.update(leaf=None)
    Summary.objects.filter(parent__in=ids).update(parent=None)
    rows.filter(pk__in=ids).delete()
    session.context_tokens += added - removed
    session.save(update_fields=["context_tokens"])
