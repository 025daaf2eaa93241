"""Read a decision from the endpoint's function calling.

The text beside a call is the thought, and a text without a call is the answer. Which of the
two it is shows at the end only, unless the text begins with a label: `Thought:` or `Final
Answer:`, as the prompt asks for. A text without a label is held back until then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.protocols.arguments import parse_arguments
from agents.protocols.decision import (
    ANSWER,
    THOUGHT,
    ModelDecision,
    SpokenPiece,
    UnreadableAnswer,
)
from agents.protocols.thinking_filter import ThinkingFilter
from agents.steps import AgentCall
from inference.json_text import make_storable
from inference.language.chat_pieces import ChatEnd, ChatPiece
from inference.language.chat_pieces import FunctionCallPiece as CallPiece

MAX_NAME = 64  # characters that endpoints take
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
THOUGHT_LABEL, ANSWER_LABEL = "Thought:", "Final Answer:"


class FunctionNames:
    """The names of tools as endpoints take them: letters, digits, `_` and `-`."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names: dict[str, str] = {}
        for name in names:
            self._names.setdefault(self._free(name), name)

    def _free(self, name: str) -> str:
        wanted = _OTHER.sub("_", name)[:MAX_NAME] or "tool"
        found, number = wanted, 1
        while found in self._names:
            number += 1
            ending = f"_{number}"
            found = wanted[: MAX_NAME - len(ending)] + ending
        return found

    def tool_name(self, function_name: str) -> str:
        """Return the tool that a function stands for; a name that is unknown stays."""
        return self._names.get(function_name, function_name)

    def function_name(self, tool_name: str) -> str:
        """Return the function that stands for a tool."""
        found = (key for key, value in self._names.items() if value == tool_name)
        return next(found, _OTHER.sub("_", tool_name)[:MAX_NAME])


class _Content:
    """The text beside the calls: it is a thought, an answer, or not yet known."""

    def __init__(self) -> None:
        self.kind = ""
        self.texts = {THOUGHT: "", ANSWER: ""}
        # What may be a label, or space before more text, or a text without a label.
        self._held = ""
        self._is_line_start = True  # whether what is held begins a line
        self._searched = 0  # characters of what is held that begin no label
        self._is_plain = False

    def add(self, text: str) -> Iterator[SpokenPiece]:
        self._held += text
        if not self.kind and not self._is_plain:
            self._find_first_label()
        if self.kind != ANSWER:
            yield from self._find_answer()
        if self.kind == ANSWER:
            yield from self._say(len(self._held.rstrip()))

    def _find_first_label(self) -> None:
        start = self._held.lstrip()
        if start.startswith(THOUGHT_LABEL):
            self.kind, self._is_line_start, self._searched = THOUGHT, False, 0
            self._held = start.removeprefix(THOUGHT_LABEL)
        elif not any(
            label.startswith(start) or start.startswith(label)
            for label in (THOUGHT_LABEL, ANSWER_LABEL)
        ):
            self._is_plain = True

    def _find_answer(self) -> Iterator[SpokenPiece]:
        """Look for the label of the answer at the start of a line; say the thought before."""
        at = self._find_label(ANSWER_LABEL)
        if at is not None:
            self.kind = THOUGHT
            yield from self._say(len(self._held[:at].rstrip()))
            self.kind = ANSWER
            self._held = self._held.lstrip().removeprefix(ANSWER_LABEL)
        elif self.kind == THOUGHT:
            yield from self._say(_sayable(self._held))

    def close(self, kind: str) -> Iterator[SpokenPiece]:
        """Say what was held back; a text without a label is of this kind."""
        self.kind = self.kind or kind
        yield from self._say(len(self._held.rstrip()))

    def _say(self, end: int) -> Iterator[SpokenPiece]:
        said, self._held = self._held[:end], self._held[end:]
        self._searched = 0
        if not self.texts[self.kind]:
            said = said.lstrip()
        if said:
            self._is_line_start = False
            self.texts[self.kind] += said
            yield SpokenPiece(self.kind, said)

    def _find_label(self, label: str) -> int | None:
        """Return where the first line of what is held begins with the label."""
        at = self._held.find(label, self._searched)
        while at >= 0:
            start = self._held.rfind("\n", 0, at) + 1
            is_line = start > 0 or self._is_line_start
            if is_line and not self._held[start:at].strip():
                return at
            at = self._held.find(label, at + 1)
        self._searched = max(len(self._held) - len(label), 0)
        return None


def _sayable(text: str) -> int:
    """Return up to where a thought can be said: a last line that may be a label is held."""
    start = text.rfind("\n") + 1
    line = text[start:].lstrip()
    is_line = start > 0 and ANSWER_LABEL.startswith(line)
    return len((text[:start] if is_line else text).rstrip())


class FunctionCallReader:
    """Reads one answer; a DecisionReader. Of several calls, the first is taken."""

    def __init__(self, names: FunctionNames) -> None:
        self.is_decided = False
        self._names = names
        self._thinking = ThinkingFilter()
        self._content = _Content()
        self._call: CallPiece | None = None
        self._arguments: list[str] = []

    @property
    def thought_text(self) -> str:
        return self._content.texts[THOUGHT]

    def read(self, piece: ChatPiece) -> Sequence[SpokenPiece]:
        if self.is_decided or isinstance(piece, ChatEnd):
            return []
        if isinstance(piece, CallPiece):
            return list(self._read_call(piece))
        if self._call:
            return []
        text = self._thinking.add(make_storable(piece.text))
        return list(self._content.add(text))

    def _read_call(self, piece: CallPiece) -> Iterator[SpokenPiece]:
        if self._call is None:
            if self._content.kind == ANSWER:
                self.is_decided = True
                return
            yield from self._close(THOUGHT)
            self._call = piece
        elif self._is_other(piece):
            self.is_decided = True
            return
        self._call = CallPiece(
            self._call.index,
            self._call.call_id or piece.call_id,
            self._call.name or piece.name,
        )
        self._arguments.append(piece.arguments)

    def _is_other(self, piece: CallPiece) -> bool:
        """Return whether a piece belongs to another call; some servers number none."""
        call = self._call
        if call is None or piece.index != call.index:
            return True
        return bool(piece.call_id and call.call_id and piece.call_id != call.call_id)

    def finish(self) -> Sequence[SpokenPiece]:
        return [] if self._call else list(self._close(ANSWER))

    def _close(self, kind: str) -> Iterator[SpokenPiece]:
        yield from self._content.add(self._thinking.finish())
        yield from self._content.close(kind)

    def decide(self) -> ModelDecision:
        if self._call:
            return ModelDecision(
                self.thought_text, call=self._read_arguments(self._call)
            )
        if answer := self._content.texts[ANSWER]:
            return ModelDecision(self.thought_text, answer=answer)
        if self._content.kind == ANSWER and self.thought_text:
            raise UnreadableAnswer("Response has an empty final answer.")
        if self.thought_text:
            raise UnreadableAnswer(
                "Response has thought but no action or final answer."
            )
        raise UnreadableAnswer("Could not parse response: it is empty")

    def _read_arguments(self, call: CallPiece) -> AgentCall:
        name = make_storable(call.name).strip()
        if not name:
            raise UnreadableAnswer("Response has an action without a name.")
        arguments = parse_arguments("".join(self._arguments))
        tool_name = self._names.tool_name(name)
        return AgentCall(
            tool_name, arguments, self.thought_text, make_storable(call.call_id)
        )
