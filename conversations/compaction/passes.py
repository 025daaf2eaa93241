"""One pass of a compaction: summarize without a lock, then write under the session's lock.

A pass writes only when its summary is complete, and when its sources and the summary before
them, which the summarizer read too, are unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import structlog
from django.db.models import Q, QuerySet

from common.db import write
from common.text import literals
from conversations.compaction import circuit, context
from conversations.models import Message, Session, Summary
from conversations.search_index import search_columns, vectors
from conversations.sessions.lookup import lock_session
from conversations.summarizers import (
    ExtractiveSummarizer,
    SummarizeOptions,
    Summarizer,
    SummarizerFailure,
)
from conversations.summarizers.input_text import text_of_messages, text_of_summaries
from conversations.summarizers.options import MIN_TARGET
from conversations.tokens import estimate_tokens
from projects import search_language

MAX_CONDENSED_TOKENS = 1_200  # the target of a condensed summary
MAX_NAMED = 5  # invented names that the log lists

log = structlog.get_logger(__name__)


def run_leaf_pass(
    session: Session, summarizer: Summarizer, tail_start: int
) -> Summary | None:
    """Replace the oldest chunk of messages by a leaf; None if there is no such chunk."""
    source = context.find_leaf_source(session, tail_start)
    if not source:
        return None
    text = text_of_messages(source, summarizer.max_result)
    previous = _find_previous(session, source[0].seq)
    options = SummarizeOptions(
        previous=previous.content if previous else "",
        # A third of the messages, not of the text, in which long results are short.
        target_tokens=max(MIN_TARGET, sum(each.tokens for each in source) // 3),
    )
    draft = _summarize(session, summarizer, text, options)
    return _write_leaf(session, source, previous, draft)


def _find_previous(session: Session, seq: int) -> Summary | None:
    """Return the summary before a message, which goes on in the next one."""
    rows = Summary.objects.filter(session=session, last_seq__lt=seq).without_parent()
    found: Summary | None = rows.only("content").order_by("-last_seq").first()
    return found


def _is_gone(previous: Summary | None) -> bool:
    """Return whether a redaction has dissolved the summary that a draft may quote."""
    if previous is None:
        return False
    return not Summary.objects.filter(pk=previous.pk).exists()


def run_condensed_pass(session: Session, summarizer: Summarizer) -> Summary | None:
    """Replace neighbouring summaries by one of the next depth; None if there are none."""
    source = context.find_condensed_source(session)
    if not source:
        return None
    text = text_of_summaries(summary.content for summary in source)
    previous = _find_previous(session, source[0].first_seq)
    options = SummarizeOptions(
        is_condensed=True,
        depth=source[0].depth + 1,
        previous=previous.content if previous else "",
    )
    target = min(options.target_of(text), MAX_CONDENSED_TOKENS)
    options = replace(options, target_tokens=target)
    draft = _summarize(session, summarizer, text, options)
    return _write_condensed(session, source, previous, draft)


class SummaryDraft(NamedTuple):
    """The text of a summary, and the summarizer that wrote it."""

    content: str
    summarizer: Summarizer


def _summarize(
    session: Session, summarizer: Summarizer, text: str, options: SummarizeOptions
) -> SummaryDraft:
    """Summarize a text; take sentences from it where the summarizer fails or invents names.

    A model that invented a name once would do so again, so the text is not given to it a
    second time. After five failures in a row, it is not asked for half an hour.
    """
    extractive = ExtractiveSummarizer()
    if summarizer.name != extractive.name and not circuit.is_open(session.project_id):
        try:
            content = _ask(summarizer, text, options)
            circuit.note_success(session.project_id)
            return SummaryDraft(content, summarizer)
        except InventedNames as error:
            log.warning("summary_invents", names=str(error), by=summarizer.name)
        except SummarizerFailure as error:
            log.warning("summary_fails", error=str(error), by=summarizer.name)
            circuit.note_failure(session.project_id)
    return SummaryDraft(extractive.summarize(text, options).strip(), extractive)


class InventedNames(Exception):
    """The summary has names that the summarized text does not have."""


def _ask(summarizer: Summarizer, text: str, options: SummarizeOptions) -> str:
    content = summarizer.summarize(text, options).strip()
    if not content:
        raise SummarizerFailure("The summarizer answered with a blank text.")
    if invented := find_invented(content, text):
        raise InventedNames(", ".join(invented[:MAX_NAMED]))
    return content


def find_invented(summary: str, text: str) -> list[str]:
    """Return the paths and error codes of a summary that the summarized text does not have."""
    names = [
        name
        for name in literals.find_identifiers(summary)
        if "/" in name or any(each.isdigit() for each in name)
    ]
    folded = text.casefold()
    return [name for name in names if name.casefold() not in folded]


@write
def _write_leaf(
    session: Session,
    source: Sequence[Message],
    previous: Summary | None,
    draft: SummaryDraft,
) -> Summary | None:
    locked = lock_session(session)
    rows = Message.objects.filter(pk__in=[each.pk for each in source]).without_leaf()
    fresh = {each.pk: each.redacted_at for each in rows.only("redacted_at")}
    if _is_gone(previous) or fresh != {each.pk: each.redacted_at for each in source}:
        return None
    summary = _new_summary(
        locked,
        Summary(
            kind=Summary.SummaryKind.LEAF,
            content=draft.content,
            earliest_at=min(each.created_at for each in source),
            latest_at=max(each.created_at for each in source),
            first_seq=source[0].seq,
            last_seq=source[-1].seq,
            message_count=len(source),
        ),
        draft.summarizer,
    )
    rows.update(leaf=summary)
    _replace_tokens(locked, sum(each.tokens for each in source), summary.tokens)
    return summary


@write
def _write_condensed(
    session: Session,
    source: Sequence[Summary],
    previous: Summary | None,
    draft: SummaryDraft,
) -> Summary | None:
    locked = lock_session(session)
    rows: QuerySet[Summary] = Summary.objects.filter(
        Q(parent=None), pk__in=[each.pk for each in source]
    )
    if _is_gone(previous) or rows.count() != len(source):
        return None
    summary = _new_summary(
        locked,
        Summary(
            kind=Summary.SummaryKind.CONDENSED,
            depth=source[0].depth + 1,
            content=draft.content,
            earliest_at=min(each.earliest_at for each in source),
            latest_at=max(each.latest_at for each in source),
            first_seq=source[0].first_seq,
            last_seq=source[-1].last_seq,
            message_count=sum(each.message_count for each in source),
        ),
        draft.summarizer,
    )
    rows.update(parent=summary)
    _replace_tokens(locked, sum(each.tokens for each in source), summary.tokens)
    return summary


def _new_summary(session: Session, summary: Summary, summarizer: Summarizer) -> Summary:
    """Complete and insert a summary."""
    summary.session = session
    summary.project_id = session.project_id
    summary.tokens = estimate_tokens(summary.content)
    summary.summarizer = summarizer.name
    summary.model = getattr(summarizer, "model", "")
    language = search_language.pin_language(session.project_id)
    search_columns.fill_summary(summary, language)
    summary.save(force_insert=True)
    vectors.embed_summaries_later(session.project_id)
    return summary


def _replace_tokens(session: Session, before: int, after: int) -> None:
    session.context_tokens += after - before
    session.save(update_fields=["context_tokens"])
