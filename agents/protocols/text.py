"""Read a decision in words: Thought, Action and Args, or Thought and Final Answer.

    Thought: I need data.
    Action: search
    Args: {"q": "x"}

What comes after the model's own Args is dropped: an observation that the model wrote itself
is never trusted. The text may come in pieces of any size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.protocols.arguments import INVALID, ObjectText, parse_arguments
from agents.protocols.decision import (
    ANSWER,
    THOUGHT,
    ModelDecision,
    SpokenPiece,
    UnreadableAnswer,
)
from agents.protocols.thinking_filter import ThinkingFilter
from agents.steps import AgentCall
from common.text.plain_text import clip
from inference.json_text import make_storable
from inference.language.chat_pieces import ChatPiece, ChatText

# The words at which the model stops, because the observation is not its to write.
STOP_WORDS = ("\nObservation:",)
# Labels at the start of a line. Some models write them in bold, and some write "Final
# answer" or "Action Input".
ACTION, ARGS, INPUT = "Action", "Args", "Action Input"
FINAL, OBSERVATION, THINKS = "Final Answer", "Observation", "Thought"
LABELS = (THINKS, INPUT, ACTION, ARGS, FINAL, "Final answer", OBSERVATION)
# An answer may hold a list with a line `Action:`; a turn that a model goes on with begins with
# a thought or an observation.
ENDS_ANSWER = (THINKS, OBSERVATION)
_LABEL = re.compile(
    rf"(?P<bold>[*_]{{0,3}})(?P<name>{'|'.join(LABELS)})(?P<closed>[*_]{{0,3}}) {{0,3}}:"
)
FENCE = "```"
_QUOTES = "\"'`*_ \t\r"
MAX_NAME = 200  # characters of a tool's name
MAX_QUOTED = 200  # characters of an unreadable answer that its error repeats


def parse_text(text: str) -> ModelDecision:
    """Return the decision of a whole answer; raise UnreadableAnswer."""
    reader = TextReader()
    reader.read(ChatText(text))
    reader.finish()
    return reader.decide()


class _JoinedLines:
    """Lines joined with single spaces; JSON keeps its lines, without their indent."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._gap = ""  # the space that comes before the next word
        self._is_new_line = True

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, text: str) -> str:
        """Add a part of a line; return what of the joined text is new."""
        if self._is_new_line:
            text = text.lstrip()
        if not text:
            return ""
        self._is_new_line = False
        words = text.rstrip()
        new = self._gap + words if words else ""
        self._gap = text[len(words) :] if words else self._gap + text
        if new:
            self._parts.append(new)
        return new

    def end_line(self) -> None:
        is_json = bool(self._parts) and self._parts[0].startswith("{")
        self._gap = ("\n" if is_json else " ") if self._parts else ""
        self._is_new_line = True


class TextReader:
    """Reads one answer; a DecisionReader."""

    def __init__(self) -> None:
        self.is_decided = False
        self._thinking = ThinkingFilter()
        self._section = ""  # the last label, or none
        # The start of a line, until it is clear whether it is a label; None after that.
        self._line: str | None = ""
        self._thought, self._answer = _JoinedLines(), _JoinedLines()
        self._name: str | None = None
        self._is_name_line = False
        self._arguments = ObjectText()
        self._start = ""  # the first words, for the error of an unreadable answer
        self._is_fenced = False
        self._open_blocks = 0  # code blocks within the fence of the whole answer

    @property
    def thought_text(self) -> str:
        return self._thought.text

    def read(self, piece: ChatPiece) -> Sequence[SpokenPiece]:
        if not isinstance(piece, ChatText):
            return []
        return self._read(self._thinking.add(make_storable(piece.text)))

    def _read(self, text: str) -> list[SpokenPiece]:
        self._start = (self._start + text)[:MAX_QUOTED]
        said: list[SpokenPiece] = []
        for part in re.split(r"(\n)", text):
            if self.is_decided:
                break
            said += self._end_line() if part == "\n" else self._add(part)
        return said

    def finish(self) -> Sequence[SpokenPiece]:
        said = self._read(self._thinking.finish())
        return said if self.is_decided else [*said, *self._end_line()]

    def _add(self, part: str) -> Iterator[SpokenPiece]:
        """Add a part of a line; a line's start is held back while it may be a label."""
        if self._line is None or self._arguments.is_begun:
            yield from self._say(part)
            return
        self._line = (self._line + part).lstrip()
        if not _may_be_label(self._line):
            yield from self._release()

    def _end_line(self) -> list[SpokenPiece]:
        said = list(self._release())
        if self._arguments.is_begun:
            self._arguments.add("\n")
        self._thought.end_line()
        self._answer.end_line()
        self._is_name_line = False
        self._line = ""
        return said

    def _release(self) -> Iterator[SpokenPiece]:
        """Read the start of a line that was held back."""
        line, self._line = self._line, None
        if not line or self.is_decided:
            return
        label = _LABEL.match(line)
        if line.startswith(FENCE):
            yield from self._fence(line)
        elif label and self._opens(label["name"]):
            yield from self._open(_name_of(label), _rest_of(label))
        else:
            if self._section == ACTION and line.startswith("{"):
                self._section = ARGS  # the label is missing
            yield from self._say(line)

    def _opens(self, name: str) -> bool:
        """Return whether a label counts here; an answer may hold lines that look like one."""
        return self._section != FINAL or name in ENDS_ANSWER

    def _open(self, name: str, rest: str) -> Iterator[SpokenPiece]:
        has_action = self._name is not None
        if (
            self._section == FINAL
            or name == OBSERVATION
            or (has_action and not (name == ARGS and self._section == ACTION))
        ):
            self.is_decided = True
        else:
            # Arguments without an action are left out.
            self._section = name
            if name == ACTION:
                self._name, self._is_name_line = "", True
            yield from self._say(rest)

    def _fence(self, line: str) -> Iterator[SpokenPiece]:
        """Leave out the fence around the whole answer, and around arguments."""
        if not self._section:
            self._is_fenced = True
        elif self._section in (ACTION, ARGS):
            return
        elif not self._is_fenced:
            yield from self._say(line)
        elif line.strip() != FENCE:
            self._open_blocks += 1
            yield from self._say(line)
        elif self._open_blocks:
            self._open_blocks -= 1
            yield from self._say(line)
        else:
            self.is_decided = True

    def _say(self, text: str) -> Iterator[SpokenPiece]:
        """Add text to the section that is open."""
        if self._section == THINKS:
            if new := self._thought.add(text):
                yield SpokenPiece(THOUGHT, new)
        elif self._section == FINAL:
            if new := self._answer.add(text):
                yield SpokenPiece(ANSWER, new)
        elif self._is_name_line:
            self._name = f"{self._name}{text}"[:MAX_NAME]
        elif self._section == ARGS and self._name is not None:
            self._add_arguments(text)

    def _add_arguments(self, text: str) -> None:
        self._arguments.add(text)
        self.is_decided = self._arguments.is_complete or self._arguments.is_invalid

    def decide(self) -> ModelDecision:
        if self._section == FINAL:
            if not self._answer.text:
                raise UnreadableAnswer("Response has an empty final answer.")
            return ModelDecision(self.thought_text, answer=self._answer.text)
        if self._name is not None:
            return ModelDecision(self.thought_text, call=self._call())
        if self.thought_text:
            raise UnreadableAnswer(
                "Response has thought but no action or final answer."
            )
        quoted = clip(" ".join(self._start.split()), MAX_QUOTED) or "it is empty"
        raise UnreadableAnswer(f"Could not parse response: {quoted}")

    def _call(self) -> AgentCall:
        name = (self._name or "").strip(_QUOTES)
        if not name:
            raise UnreadableAnswer("Response has an action without a name.")
        if self._arguments.is_invalid:
            raise UnreadableAnswer(f"{INVALID}: write one object, as {{}}.")
        if self._arguments.is_begun and not self._arguments.is_complete:
            raise UnreadableAnswer(f"{INVALID}: the object has no end.")
        return AgentCall(name, parse_arguments(self._arguments.text), self.thought_text)


def _name_of(label: re.Match[str]) -> str:
    name = label["name"]
    if name == INPUT:
        return ARGS
    return FINAL if name == "Final answer" else name


def _rest_of(label: re.Match[str]) -> str:
    """Return the line after the label, without the end of bold type."""
    rest = label.string[label.end() :]
    if label["bold"] and not label["closed"]:
        return rest.removeprefix(label["bold"])
    return rest


def _may_be_label(line: str) -> bool:
    """Return whether more text could make the start of a line a label, or a longer one."""
    if FENCE.startswith(line) or line.startswith(FENCE):
        return True
    if label := _LABEL.match(line):
        rest = label.string[label.end() :]
        is_bold = bool(label["bold"]) and not label["closed"]
        return is_bold and rest != label["bold"] and label["bold"].startswith(rest)
    bare = line.lstrip("*_")
    if len(line) - len(bare) > 3:
        return False
    return any(
        name.startswith(bare)
        or (bare.startswith(name) and _is_label_end(bare[len(name) :]))
        for name in LABELS
    )


def _is_label_end(text: str) -> bool:
    """Return whether a text can stand between a label's name and its colon."""
    spaces = text.lstrip("*_")
    return len(text) - len(spaces) <= 3 and len(spaces) <= 3 and not spaces.strip(" ")
