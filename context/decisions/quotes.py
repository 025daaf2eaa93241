"""Quote what was decided as it was said: the closing words, and what persons ruled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from common.text import literals, tokenise
from common.text.quote import CUT, safe_line
from context.decisions import talk as talks
from context.decisions.passages import Passage, read_words
from context.decisions.talk import Said, Talk
from conversations.models import Message

# In bytes.
MAX_CLOSING, MAX_SAID = 640, 260
# Words that the prompt does not have: of a passage, and of all that is quoted.
MIN_NEW, MIN_NEW_OF_ALL = 3, 5
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
# Marks that may stand behind the end of a sentence.
_MARKS = "\"'`*_)] \n"


@dataclass(frozen=True)
class Quote:
    """Lines of a conversation or commit, and the moment at which it was decided."""

    moment: datetime
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words without who said them."""
        return "\n".join(line.partition(": ")[2] for line in self.lines)


def quote_commit(passage: Passage, prompt: str, max_bytes: int) -> Quote | None:
    """Quote a commit; None if it says nothing that the prompt does not say."""
    message = Message.objects.light().filter(pk=passage.id).first()
    text = read_words(message) if message else ""
    known = words_of(prompt)
    if message is None or len(words_of(text) - known) < MIN_NEW:
        return None
    line = f"> commit: {shorten(text, max_bytes, known)}"
    return Quote(message.created_at, (line,))


def quote_conversation(
    passage: Passage, prompt: str, max_bytes: int, *, least: int = MIN_NEW_OF_ALL
) -> Quote | None:
    """Quote the closing words near a passage, and persons' words, the newest first.

    Return None if they have fewer than `least` words that the prompt does not have.
    """
    talk = talks.read(passage)
    known = words_of(prompt)
    closing = _find_closing(talk, passage, known)
    persons = [each for each in reversed(talk.said) if each.is_person]
    chosen: dict[int, str] = {}
    new: set[str] = set()
    room = max_bytes
    for each in [*closing, *persons]:
        text = _leave_out_questions(each.text) if each.is_person else each.text
        own = words_of(text) - known
        if len(own) < MIN_NEW:
            continue
        limit = MAX_SAID if each.is_person else min(MAX_CLOSING, max_bytes * 2 // 3)
        line = f"> {each.speaker}: {shorten(text, limit, known)}"
        size = len(line.encode()) + 1
        if size <= room:
            chosen[each.seq] = line
            room -= size
            new |= own
    if not chosen or len(new) < least:
        return None
    quoted = [each for each in talk.said if each.seq in chosen]
    decided = [each for each in quoted if not each.is_person] or quoted
    lines = tuple(chosen[each.seq] for each in quoted)
    return Quote(decided[-1].moment, lines)


def words_of(text: str) -> set[str]:
    """Return the words of a text that say something: long ones, numbers and names.

    Of a script without spaces each letter is a word.
    """
    return set(_words(text))


def _words(text: str) -> Iterator[str]:
    for word in map(tokenise.fold, tokenise.words(text)):
        if letters := tokenise.unspaced_letters(word):
            yield from letters
        elif len(word) >= MIN_WORD or not word.isalpha():
            yield word


def _find_closing(talk: Talk, passage: Passage, known: set[str]) -> list[Said]:
    """Return the last closing words of an agent that neither ask nor announce.

    In a session of several subjects these are the answer to the passage, and then the last.
    """
    closing = [
        each
        for each in talk.said
        if not each.is_person
        and not _is_open(each.text)
        and len(words_of(each.text) - known) >= MIN_NEW
    ]
    if not (talk.is_part and closing):
        return closing[-1:]
    answers = (each for each in closing if each.seq >= passage.seq)
    return list(dict.fromkeys([*islice(answers, 1), closing[-1]]))


def _is_open(text: str) -> bool:
    return text.rstrip(_MARKS).endswith(_OPEN_ENDS)


def _leave_out_questions(text: str) -> str:
    sentences = _SENTENCE.split(text)
    return "\n".join(each for each in sentences if not _is_open(each))


def shorten(text: str, max_bytes: int, known: set[str]) -> str:
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
        room = max_bytes - len(CUT.encode())
        return line.encode()[:room].decode("utf-8", "ignore") + CUT
    return " ".join(sentences[at] for at in sorted(kept))


def _weigh(sentence: str, known: set[str]) -> int:
    """Count what a sentence says that the prompt does not say: words, names, numbers."""
    new = words_of(sentence) - known
    return len(new) + LITERAL * len(literals.find_literals(sentence))
