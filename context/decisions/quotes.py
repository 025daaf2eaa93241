"""Quote what was decided as it was said: the closing words, and what persons ruled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from common.text import literals, tokenise
from common.text.quote import safe_line
from context.decisions.passages import Passage, read_said, read_words
from conversations.models import Message

# In bytes.
MAX_CLOSING, MAX_SAID = 640, 260
# A session of more than LONG passages has several subjects: NEAR passages on each side of the
# one that was found are read.
LONG, NEAR = 24, 5
READ = 150  # spoken messages on each side that are read
# Words that the prompt does not have: of a passage, and of all that is quoted.
MIN_NEW, MIN_NEW_OF_ALL = 3, 10
MIN_WORD = 4  # letters of a word that says something
# A name, a number or a quoted string of a sentence weighs as much as so many other words.
LITERAL = 3
# The end of a sentence, but not that of a number in a list.
_SENTENCE = re.compile(
    r"(?<=[^\W\d][.!?])[\"')\]*]*\s+|(?<=[\u3002\uff01\uff1f])\s*|\n+"
)
_CODE = re.compile(r"^\s{0,8}(```|~~~).*?(?:^\s{0,8}\1|\Z)", re.MULTILINE | re.DOTALL)
# What ends so asks or announces something; it decides nothing.
_OPEN_ENDS = ("?", "\uff1f", "\u061f", ":", "\uff1a")
# Quotation marks that may stand behind the end of a sentence.
_MARKS = "\"'`*_)] \n"


@dataclass(frozen=True)
class Quote:
    """Lines of a conversation or commit, and the moment of its last word."""

    moment: datetime
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words without who said them."""
        return "\n".join(line.partition(": ")[2] for line in self.lines)


@dataclass(frozen=True)
class _Said:
    """What a person said, or the closing words of an agent."""

    seq: int
    is_person: bool
    moment: datetime
    text: str

    @property
    def speaker(self) -> str:
        return "person" if self.is_person else "agent"


class _Talk(NamedTuple):
    """What was said near a passage, in order; `is_part` says that the session is longer."""

    said: list[_Said]
    is_part: bool


def of_commit(passage: Passage, prompt: str, max_bytes: int) -> Quote | None:
    message = Message.objects.light().filter(pk=passage.id).first()
    if message is None:
        return None
    text = _shorten(read_words(message), max_bytes, words_of(prompt))
    return Quote(message.created_at, (f"> {text}",))


def of_conversation(passage: Passage, prompt: str, max_bytes: int) -> Quote | None:
    """Quote the closing words near a passage, and persons' words, the newest first.

    Return None if they say nothing that the prompt does not say.
    """
    talk = _read(passage)
    said = talk.said
    known = words_of(prompt)
    closing = _find_closing(talk, passage)
    persons = [each for each in reversed(said) if each.is_person]
    chosen: dict[int, str] = {}
    new: set[str] = set()
    room = max_bytes
    for each in [*closing, *persons]:
        text = _leave_out_questions(each.text) if each.is_person else each.text
        own = words_of(text) - known
        if len(own) < MIN_NEW:
            continue
        limit = MAX_SAID if each.is_person else min(MAX_CLOSING, max_bytes * 2 // 3)
        line = f"> {each.speaker}: {_shorten(text, limit, known)}"
        size = len(line.encode()) + 1
        if size <= room:
            chosen[each.seq] = line
            room -= size
            new |= own
    if len(new) < MIN_NEW_OF_ALL:
        return None
    return Quote(said[-1].moment, tuple(chosen[seq] for seq in sorted(chosen)))


def _find_closing(talk: _Talk, passage: Passage) -> list[_Said]:
    """Return the last closing words of an agent that neither ask nor announce.

    In a session of several subjects these are the answer to the passage, and then the last.
    """
    agents = (each for each in talk.said if not each.is_person)
    closing = [each for each in agents if not _is_open(each.text)]
    if not (talk.is_part and closing):
        return closing[-1:]
    answers = (each for each in closing if each.seq >= passage.seq)
    return list(dict.fromkeys([*islice(answers, 1), closing[-1]]))


def _is_open(text: str) -> bool:
    return text.rstrip(_MARKS).endswith(_OPEN_ENDS)


def _leave_out_questions(text: str) -> str:
    sentences = _SENTENCE.split(text)
    return "\n".join(each for each in sentences if not _is_open(each))


def _read(passage: Passage) -> _Talk:
    """Return persons' words and the closing words of exchanges near a passage, in order."""
    said = [
        _Said(message.seq, is_person, message.created_at, words)
        for message, is_person, words in read_said(passage, READ)
    ]
    closing = [
        each
        for each, following in zip(said, [*said[1:], None], strict=True)
        if each.is_person or following is None or following.is_person
    ]
    if len(closing) <= LONG:
        return _Talk(closing, is_part=False)
    at = next((n for n, each in enumerate(closing) if each.seq >= passage.seq), 0)
    return _Talk(closing[max(0, at - NEAR) : at + NEAR + 1], is_part=True)


def _shorten(text: str, max_bytes: int, known: set[str]) -> str:
    """Return the text on one line; of a longer one whole sentences, which say the most new."""
    text = _CODE.sub("", text)
    line = safe_line(text)
    if len(line.encode()) <= max_bytes:
        return line
    sentences = [safe_line(each) for each in _SENTENCE.split(text) if each.strip()]
    news = [_weigh(each, known) for each in sentences]
    room = max_bytes
    kept: set[int] = set()
    for at in sorted(range(len(sentences)), key=lambda at: -news[at]):
        size = len(sentences[at].encode()) + 1
        if size <= room:
            kept.add(at)
            room -= size
    if not kept:
        return safe_line(text, max_bytes // 2)
    return " ".join(sentences[at] for at in sorted(kept))


def _weigh(sentence: str, known: set[str]) -> int:
    """Count what a sentence says that the prompt does not say: words, names, numbers."""
    new = words_of(sentence) - known
    return len(new) + LITERAL * len(literals.find_literals(sentence))


def words_of(text: str) -> set[str]:
    """Return the words of a text that say something: long ones, numbers and names."""
    words = map(tokenise.fold, tokenise.words(text))
    return {word for word in words if len(word) >= MIN_WORD or not word.isalpha()}
