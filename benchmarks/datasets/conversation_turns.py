"""Turn recorded runs into conversations.

The conversations are searched with queries whose answers they contain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from ace import recorded_tasks
from benchmarks.datasets.corpora import CorpusDocument, JudgedCollection, JudgedQuery

USER, ASSISTANT, TOOL = "user", "assistant", "tool"
SHORT = 200  # characters; a longer message is split into turns, between sentences
MAX_CHARACTERS = 400  # characters of a turn; longer output of a tool is cut
MAX_TURNS = 4  # turns made from one message
# Characters of a turn; a shorter turn contains nothing to search for.
MIN_CHARACTERS = 10

_PART = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class RunMessage:
    speaker: str
    text: str
    is_call: bool = False


@dataclass(frozen=True)
class ConversationTurn:
    """A part of a message.

    `answers` is the number of the other speaker's message to which this turn replies. A
    tool call is a turn of the assistant, but it is not used as a query.
    """

    id: str
    speaker: str
    text: str
    conversation: int
    message: int
    answers: int | None = None
    is_call: bool = False

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"


def load_turns(data: Path, most: int) -> list[ConversationTurn]:
    """Load the first `most` turns, taking one conversation from each file in rotation.

    Runs with the same goal form one conversation. A line that repeats an earlier line
    is dropped, because no query could tell the two lines apart.
    """
    files = [_conversations(path) for path in sorted((data / "traces").glob("*.jsonl"))]
    conversations = filter(None, chain.from_iterable(zip_longest(*files)))
    seen: set[str] = set()
    turns = chain.from_iterable(
        _turns(number, rows, seen) for number, rows in enumerate(conversations)
    )
    return list(islice(turns, most))


def opening_queries(turns: Sequence[ConversationTurn]) -> JudgedCollection:
    """Return a collection in which the first turn of each conversation is a query.

    The answers to the query are all other turns of its conversation.
    """
    queries = []
    for first, others in _group_by_conversation(turns):
        judged = {turn.id: 1.0 for turn in others}
        queries.append(JudgedQuery(first.id, first.text, judged))
    return _collection("opening", turns, queries)


def reply_queries(turns: Sequence[ConversationTurn]) -> JudgedCollection:
    """Return a collection in which turns of the assistant are queries.

    The answer to a query is the message to which the turn replies.
    """
    messages: dict[tuple[int, int | None], dict[str, float]] = {}
    for turn in turns:
        of_message = messages.setdefault((turn.conversation, turn.message), {})
        of_message[turn.id] = 1.0
    queries = [
        JudgedQuery(
            turn.id, turn.text, messages.get((turn.conversation, turn.answers), {})
        )
        for turn in turns
        if turn.speaker == ASSISTANT and not turn.is_call
    ]
    return _collection("reply", turns, queries)


def _collection(
    name: str, turns: Iterable[ConversationTurn], queries: Iterable[JudgedQuery]
) -> JudgedCollection:
    documents = [CorpusDocument(turn.id, "", turn.line) for turn in turns]
    return JudgedCollection(
        name, documents, [query for query in queries if query.grades]
    )


def _group_by_conversation(
    turns: Sequence[ConversationTurn],
) -> Iterator[tuple[ConversationTurn, list[ConversationTurn]]]:
    groups: dict[int, list[ConversationTurn]] = {}
    for turn in turns:
        groups.setdefault(turn.conversation, []).append(turn)
    for first, *others in groups.values():
        if first.speaker == USER:
            yield first, others


def _conversations(path: Path) -> list[list[Mapping[str, Any]]]:
    conversations: dict[str, list[Mapping[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        conversations.setdefault(row["goal"], []).append(row)
    return list(conversations.values())


def _turns(
    conversation: int, rows: Iterable[Mapping[str, Any]], seen: set[str]
) -> Iterator[ConversationTurn]:
    number = 0
    for row in rows:
        others: int | None = None
        for message in _messages(row):
            for piece in _split_pieces(message.text):
                turn = ConversationTurn(
                    id=f"{len(seen)}",
                    speaker=message.speaker,
                    text=piece,
                    conversation=conversation,
                    message=number,
                    answers=others,
                    is_call=message.is_call,
                )
                if turn.line not in seen:
                    seen.add(turn.line)
                    yield turn
            if message.speaker != ASSISTANT:
                others = number
            number += 1


def _messages(row: Mapping[str, Any]) -> Iterator[RunMessage]:
    """Yield the messages of a run.

    They are the goal, the thoughts, the calls with what they returned, the reflections,
    and the result of the task.
    """
    request = recorded_tasks.to_request(row, agent_id="benchmark")
    yield RunMessage(USER, request["goal"])
    calls = request["tool_usage"] if row.get("tool_usage") else []
    for step, call in zip(row.get("tool_usage") or [], calls, strict=True):
        yield RunMessage(ASSISTANT, step.get("thought") or "")
        text = f"{call['tool_name']} {_plain(call['arguments'])}"
        yield RunMessage(ASSISTANT, text, is_call=True)
        yield RunMessage(TOOL, _plain(call["result"]))
    for reflection in row.get("reflections") or []:
        yield RunMessage(ASSISTANT, reflection)
    yield RunMessage(ASSISTANT, request["result"])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _split_pieces(text: str) -> list[str]:
    pieces = [""]
    for part in filter(None, _PART.split(text.strip())):
        if len(pieces[-1]) + len(part) > SHORT:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]} {part}".strip()[:MAX_CHARACTERS]
    return [piece for piece in pieces if len(piece) >= MIN_CHARACTERS][:MAX_TURNS]
