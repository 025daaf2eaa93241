"""Record a conversation with a theme as one episode."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ace.episode import EpisodeSource
from agents.learning import episode
from agents.tiers import shared_words
from common.caller import SYSTEM
from common.text.plain_text import clip
from conversations.models import Invocation, Session

MIN_INVOCATIONS = 3
MAX_STEP = 400  # characters of one step


def record_conversation(session: Session, rows: Sequence[Invocation]) -> str | None:
    """Record the conversation as an episode, once; return the id of the episode.

    Return None if it has fewer than three invocations, or no theme: no word that is in the
    questions or results of most of them.
    """
    if not session.project.options.agents.enable_episode_recording:
        return None
    if len(rows) < MIN_INVOCATIONS or not has_theme(rows):
        return None
    source = EpisodeSource(
        session.user_id,
        session.key,
        {"session_id": str(session.pk), "invocations": len(rows)},
        steps=[_step(row) for row in rows],
    )
    finished = episode.complete_once(
        session.project,
        _request(session, rows),
        SYSTEM,
        source=source,
        run_id=uuid.uuid5(session.pk, "conversation"),
    )
    return episode.memory_id_of(finished)


def has_theme(rows: Sequence[Invocation]) -> bool:
    """Whether one word is in more than half of the invocations."""
    words: Counter[str] = Counter()
    for row in rows:
        words.update(shared_words.key_words(f"{row.query} {row.result}"))
    return bool(words) and words.most_common(1)[0][1] * 2 > len(rows)


def _step(row: Invocation) -> str:
    said = row.summary or f"{row.query} {row.result}"
    return clip(" ".join(said.split()), MAX_STEP)


def _request(session: Session, rows: Sequence[Invocation]) -> dict[str, Any]:
    return {
        "agent_id": session.agent_id,
        "goal": rows[0].query,
        "result": rows[-1].result,
        "feedback_source": "agent",
    }
