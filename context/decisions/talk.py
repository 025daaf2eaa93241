"""Read what persons said near a passage, and the closing words of an agent's exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from context.decisions.passages import USER, Passage, read_words
from conversations.models import Message

# A session of more than LONG passages has several subjects: NEAR passages on each side of the
# one that was found are read.
LONG, NEAR = 24, 5


@dataclass(frozen=True)
class Said:
    """What a person said, or the closing words of an agent."""

    seq: int
    is_person: bool
    moment: datetime
    text: str

    @property
    def speaker(self) -> str:
        return "person" if self.is_person else "agent"


@dataclass(frozen=True)
class Talk:
    """What was said near a passage, in order; `is_part` says that the session is longer."""

    said: Sequence[Said]
    is_part: bool


def read(passage: Passage) -> Talk:
    rows = Message.objects.light().visible()
    rows = rows.filter(session=passage.session_id, has_words=True).order_by("seq")
    speakers = list(rows.values_list("seq", "role"))
    following = [role for _, role in speakers[1:]] + [USER]
    seqs = [
        seq
        for (seq, role), after in zip(speakers, following, strict=True)
        # Within an exchange, only its last words close it.
        if USER in (role, after)
    ]
    is_part = len(seqs) > LONG
    if is_part:
        at = next((n for n, seq in enumerate(seqs) if seq >= passage.seq), 0)
        seqs = seqs[max(0, at - NEAR) : at + NEAR + 1]
    said = [
        Said(each.seq, each.role == USER, each.created_at, words)
        for each in rows.filter(seq__in=seqs)
        if (words := read_words(each))
    ]
    return Talk(said, is_part)
