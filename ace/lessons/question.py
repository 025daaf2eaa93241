"""Write the question of a reflection: a part of the record, and the rules near it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from access.restored_caller import caller_of
from ace.lessons import run_lines, session_lines
from ace.lessons.answer import ReflectionAnswer, shape_for
from ace.lessons.record import RecordHeader, RecordPart, write_parts
from ace.lessons.record_line import one_line
from ace.lessons.session_lines import StoredMessage
from ace.models import ModelReflection
from common.text.quote import json_string
from conversations.formats.message import ChatMessage
from conversations.models import Message, Session, Transcript
from conversations.transcripts.events import recorded_fields
from inference.language import prompts
from inference.language.fence import FencedText, fence_texts
from inference.language.prompts import Prompt
from playbook.entries import neighbours
from playbook.lessons import candidates as lesson_candidates
from playbook.lessons import waiting as lessons_waiting
from playbook.models import LessonCandidate, PlaybookDelta, PlaybookEntry

PURPOSE = "reflection"
MAX_TOKENS = 3_000  # of an answer
MAX_RULES, MAX_CANDIDATES = 30, 20
MAX_SEARCHED, MAX_SEARCHED_TEXT = 20, 1_000  # texts, and characters of each
_FENCE = re.compile(r"^==== [0-9a-f]+ ", re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """What a model is asked about one part of a record, and what it may answer."""

    prompt: Prompt
    text: str
    part: RecordPart
    rules: Mapping[str, PlaybookEntry]
    waiting: Mapping[str, PlaybookDelta]
    candidates: Mapping[str, LessonCandidate]

    @property
    def shape(self) -> type[ReflectionAnswer]:
        return shape_for([*self.rules, *self.waiting, *self.candidates])

    @property
    def hash(self) -> str:
        """Name the question without its fences, which are random words."""
        plain = _FENCE.sub("==== ", self.text)
        return hashlib.sha256(f"{self.prompt.text}\n{plain}".encode()).hexdigest()[:16]


def read_prompt() -> Prompt:
    return prompts.read(Path(__file__).parent / "prompts" / "reflect.md")


def build(row: ModelReflection) -> Question | None:
    """Return the question about the next part of the record; None if none is left."""
    parts = read_parts(row)
    if row.parts_done >= len(parts):
        return None
    part = parts[row.parts_done]
    rules, waiting = find_rules(row, part), find_waiting(row)
    candidates = find_candidates(row)
    so_far = [
        *map(_write_rule, rules),
        *map(_write_waiting, waiting),
        *map(_write_candidate, candidates),
    ]
    texts = [
        FencedText("the record", part.text),
        FencedText("the rules so far", "\n".join(so_far) or "There are no rules yet."),
    ]
    if row.results:
        texts.insert(0, FencedText("what the part before taught", _earlier(row)))
    text = f"{fence_texts(texts)}\n\nWrite down what this record teaches."
    return Question(
        read_prompt(),
        text,
        part,
        {rule.label: rule for rule in rules},
        {lessons_waiting.name(delta): delta for delta in waiting},
        {lesson_candidates.name(each): each for each in candidates},
    )


def read_parts(row: ModelReflection) -> list[RecordPart]:
    """Return the record in parts that fit the project's limit."""
    max_tokens = row.project.options.language.record_tokens
    if row.run:
        header = RecordHeader(person=row.person[:8], agent=row.agent_id)
        lines = run_lines.read_lines(row.run.task, str(row.run.pk))
        return write_parts(header, lines, max_tokens)
    messages = list(_messages(row))
    lines = session_lines.read_lines(messages)
    return write_parts(_header(row, messages), lines, max_tokens)


def _messages(row: ModelReflection) -> Iterator[StoredMessage]:
    assert row.session
    rows = row.session.messages.light().visible()
    rows = rows.filter(seq__gte=row.first_seq, seq__lte=row.last_seq, redacted_at=None)
    # Anybody who may write can append other messages to the session of a transcript.
    is_transcript = Transcript.objects.filter(session=row.session).exists()
    for message in rows.order_by("seq"):
        if not is_transcript or recorded_fields(message.metadata):
            yield StoredMessage(str(message.pk), _read_chat_message(message))


def _read_chat_message(row: Message) -> ChatMessage:
    parts = tuple(row.parts)
    return ChatMessage(row.role, parts, row.external_id, row.metadata, row.created_at)


def _header(row: ModelReflection, messages: Sequence[StoredMessage]) -> RecordHeader:
    fields = [recorded_fields(each.message.metadata) for each in messages]
    times = [each.message.created_at for each in messages if each.message.created_at]
    folders = [str(found["cwd"]) for found in fields if found.get("cwd")]
    branches = [str(found["branch"]) for found in fields if found.get("branch")]
    return RecordHeader(
        person=row.person[:8],
        agent=row.agent_id,
        folder=folders[0] if folders else "",
        branches=tuple(dict.fromkeys(branches)),
        began=f"{times[0]:%Y-%m-%d %H:%M}" if times else "",
        ended=f"{times[-1]:%Y-%m-%d %H:%M}" if times else "",
    )


def find_rules(row: ModelReflection, part: RecordPart) -> list[PlaybookEntry]:
    """Return the live rules nearest to what the record says; all of them if they are few."""
    rows = PlaybookEntry.objects.current().light().filter(project_id=row.project_id)
    if rows.count() <= MAX_RULES:
        return list(rows.order_by("pk"))
    best: dict[PlaybookEntry, float] = {}
    for vector in neighbours.embed_texts(list(_searched(part))) or []:
        for near in neighbours.find_nearest(
            row.project_id, vector, top=MAX_RULES, threshold=-1.0
        ):
            best[near.entry] = max(near.similarity, best.get(near.entry, -1.0))
    nearest = sorted(best, key=lambda entry: (-best[entry], entry.pk))[:MAX_RULES]
    return sorted(nearest, key=lambda entry: entry.pk)


def _searched(part: RecordPart) -> Iterator[str]:
    """Yield the texts by which rules are searched: what people said first, then the rest."""
    said = [s.text for s in part.sources if s.speaker == "person"]
    rest = [s.text for s in part.sources if s.speaker != "person"]
    for text in [*said, *rest][:MAX_SEARCHED]:
        yield one_line(text, MAX_SEARCHED_TEXT)


def find_waiting(row: ModelReflection) -> list[PlaybookDelta]:
    """Return the newest lessons of the same person that wait for somebody to decide."""
    return lessons_waiting.find(row.project, [row.person])[-MAX_RULES:]


def find_candidates(row: ModelReflection) -> list[LessonCandidate]:
    """Return the newest candidates of the sessions that the same person may read."""
    caller = caller_of(row)
    rows = LessonCandidate.objects.visible_to(caller).filter(project=row.project)
    found = list(rows.order_by("-updated_at")[:MAX_CANDIDATES])
    told_in = {key for each in found for key in each.sessions}
    sessions = Session.objects.visible_to(caller).filter(project=row.project)
    readable = set(sessions.filter(key__in=told_in).values_list("key", flat=True))
    return [each for each in found if readable.intersection(each.sessions)]


def _write_candidate(candidate: LessonCandidate) -> str:
    content, told = json_string(candidate.content, None), len(candidate.sessions)
    return f"[{lesson_candidates.name(candidate)}] {content} (told in {told} sessions)"


def _write_waiting(delta: PlaybookDelta) -> str:
    content = json_string(delta.content, None)
    return f"[{lessons_waiting.name(delta)}] {content} (waits for a person)"


def _write_rule(entry: PlaybookEntry) -> str:
    by_person = entry.author_kind == PlaybookEntry.Author.HUMAN
    marks = [
        f"confirmed {entry.helpful} times" if entry.helpful else "",
        f"opposed {entry.harmful} times" if entry.harmful else "",
        "locked" if entry.locked else "",
        "written by a person" if by_person else "",
    ]
    told = ", ".join(filter(None, marks))
    content = json_string(entry.content, None)
    return f"[{entry.label}] {content}{f' ({told})' if told else ''}"


def _earlier(row: ModelReflection) -> str:
    lines = [
        f"- {each['operation']} {each['label']} {each['content']}".rstrip()
        for each in row.results[-1]["lessons"]
    ]
    return "\n".join(lines) or "Nothing."
