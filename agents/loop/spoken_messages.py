"""The messages of one step: thought, action, observation, answer, each with its id."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from agents.loop.events import TextPiece
from agents.protocols.decision import SpokenPiece

ACTION, OBSERVATION = "action", "observation"


class SpokenMessages:
    """Turns what a model says into events; without streaming, each message comes whole."""

    def __init__(
        self, run_id: uuid.UUID, iteration: int, *, has_streaming: bool
    ) -> None:
        self._start = f"{run_id}-{iteration}"
        self._has_streaming = has_streaming
        self._kind = ""  # of the message that is open
        self._held: list[str] = []

    def id_of(self, kind: str) -> str:
        return f"{self._start}-{kind}"

    def say(self, piece: SpokenPiece) -> Iterator[TextPiece]:
        if self._kind != piece.kind:
            yield from self.close()
            self._kind = piece.kind
        if self._has_streaming:
            yield TextPiece(piece.kind, piece.text, self.id_of(piece.kind))
        else:
            self._held.append(piece.text)

    def close(self) -> Iterator[TextPiece]:
        """End the message that is open, if one is."""
        if self._kind:
            text, kind = "".join(self._held), self._kind
            yield TextPiece(kind, text, self.id_of(kind), is_last=True)
        self._kind, self._held = "", []
