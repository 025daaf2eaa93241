"""Read what was taught as drafts of changes: with its quotes found, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Q

from common.caller import Caller, Role
from common.text import plain_text as texts
from common.text import same_text, sentences
from common.text.lasting import says_it_lasts
from playbook.entries.matches import ANSWER
from playbook.entries.text_limits import MAX_TAG
from playbook.lessons import draft as drafts
from playbook.lessons import quotes
from playbook.lessons.draft import Basis, Draft, Operation
from playbook.lessons.lesson import (
    Kind,
    Lesson,
    Occasion,
    Producer,
    Quote,
    Speaker,
    TaughtLesson,
)
from playbook.lessons.lesson import Operation as Teaches
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import TRUSTED_SOURCES
from playbook.rule_text import applicability
from projects.models import Project

# What rules derive from tests and calls. A sentence that a test printed is none of them:
# whoever can print into a log must not write rules.
SHOWN_KINDS = frozenset({Kind.FIX, Kind.CHECK, Kind.ANSWER, Kind.PROCEDURE})
# Where a lesson stands that names no category of the project.
CATEGORIES: dict[str, str] = {
    Kind.FIX: "gotchas",
    Kind.CHECK: "best_practices",
    Kind.INSTRUCTION: "best_practices",
    Kind.PREFERENCE: "best_practices",
    Kind.DECISION: "architecture",
    Kind.PROCEDURE: "patterns",
}
# Whose texts show that a name exists: not the agent's own, and not those of strangers.
WITNESSES = (Speaker.PERSON, Speaker.CALL, Speaker.TEST)
FOREIGN = "Its words come from a foreign text."
# Who reported a task, as the first words of a sentence for the reviewer.
TELLERS = {
    "agent": "The agent itself",
    "human": "A person",
    "test": "A test",
    "environment": "What the calls did",
}


def read(
    project: Project,
    lessons: Sequence[TaughtLesson],
    occasion: Occasion,
    caller: Caller,
) -> list[Draft]:
    """Return a draft for each lesson; what the occasion says twice is one lesson."""
    found: dict[str, Draft] = {}
    for each in lessons:
        if draft := _read_one(project, each, occasion, caller):
            found.setdefault(draft.delta.idempotency_key, draft)
    return list(found.values())


def _read_one(
    project: Project, each: TaughtLesson, occasion: Occasion, caller: Caller
) -> Draft | None:
    lesson = each.lesson
    said = quotes.find(lesson.quotes, occasion.sources)
    if each.operation == Teaches.CONFIRM and not is_shown(said):
        return None  # that an agent did it again is no evidence
    entry = _find_entry(project, each.label) if each.label else None
    if entry is None and each.operation in (Teaches.CONFIRM, Teaches.CONTRADICT):
        return None  # The rule is gone, so there is nothing to vote for or to change.
    warning = each.warning
    if any(quote.speaker == Speaker.FOREIGN for quote in said):
        warning = warning or FOREIGN
    basis = find_basis(project, lesson, said, occasion, caller)
    delta = drafts.change(
        Operation.UPDATE if entry else Operation.ADD,
        entry=entry,
        values={"content": lesson.content},
        expected_version=each.version if entry else None,
        category="" if entry else _category(project, lesson),
        kind=lesson.kind,
        tags=_tags(lesson) if lesson.tags or not entry else None,
        applies_to=list(applicability.keep_valid(lesson.applies_to)) or None,
        confidence=lesson.confidence,
        expires_when=lesson.expires_when[:200],
        session=occasion.session,
        reason=_reason(each, occasion),
        evidence=[asdict(quote) for quote in said],
        producer=lesson.producer,
        producer_name=lesson.producer_name[:100],
        producer_version=lesson.producer_version[:40],
        agent_id=occasion.agent_id,
        run_id=occasion.run_id,
        memory_id=occasion.memory_id,
        payload=_payload(lesson, occasion),
        idempotency_key=_key(each, occasion),
    )
    draft = Draft(
        delta,
        Basis.WORD if warning else basis,
        is_believed=is_believed(project, occasion, caller),
        around=tuple(quotes.surroundings(said, occasion.sources)),
        seen=tuple(each.text for each in occasion.sources if each.speaker in WITNESSES),
        warning=warning,
        is_candidate=each.operation == Teaches.CANDIDATE,
    )
    if each.operation == Teaches.CONFIRM and entry:
        return to_vote(draft, entry)
    if each.operation == Teaches.CONTRADICT and entry:
        return _contradict(draft, entry, caller)
    return draft


def _tags(lesson: Lesson) -> list[str]:
    return list(dict.fromkeys(tag[:MAX_TAG] for tag in lesson.tags))


def _payload(lesson: Lesson, occasion: Occasion) -> dict[str, Any]:
    """Return who judged the task, and the columns that the lesson implies."""
    payload: dict[str, Any] = {"feedback_source": occasion.feedback_source}
    if lesson.priority:
        payload["priority"] = lesson.priority
    if lesson.failure:
        payload["failure"] = lesson.failure
    answer = ANSWER.match(lesson.content) if lesson.kind == Kind.ANSWER else None
    if answer:
        question = answer[1].strip().rstrip(",").removeprefix("When asked ")
        payload |= {"condition": question, "action": f"answer {answer[2]}"}
    return payload


def _find_entry(project: Project, label: str) -> PlaybookEntry | None:
    rows = PlaybookEntry.objects.current().light().filter(project=project)
    found: PlaybookEntry | None = rows.filter(label=label).first()
    return found or rows.filter(aliases__contains=[label]).first()


def _category(project: Project, lesson: Lesson) -> str:
    known = project.options.categories
    wanted = (lesson.category, CATEGORIES.get(lesson.kind, ""), "general")
    return next((name for name in wanted if name in known), known[-1])


def _reason(each: TaughtLesson, occasion: Occasion) -> str:
    teller = TELLERS.get(occasion.feedback_source, occasion.feedback_source)
    where = "a task" if occasion.run_id else "a session"
    parts = [f"Learned from {where}.", f"{teller} reported it.", each.reason]
    if occasion.outcome not in ("", "unknown"):
        parts[0] = f"Learned from {where} whose outcome was {occasion.outcome}."
    return texts.clip(" ".join(filter(None, parts)), 1000)


def _key(each: TaughtLesson, occasion: Occasion) -> str:
    """Return the key by which an occasion teaches a lesson once."""
    lesson = each.lesson
    text = same_text.hash_text(lesson.content)
    return drafts.key(occasion.id, lesson.producer, each.operation, each.label, text)


def is_believed(project: Project, occasion: Occasion, caller: Caller) -> bool:
    """Whether the project believes what the caller reports of tests and calls.

    Whoever may claim the source of a feedback was checked when the task was told.
    """
    is_vouched = occasion.feedback_source in TRUSTED_SOURCES
    return is_vouched or caller.attests_in(project.pk)


def find_basis(
    project: Project,
    lesson: Lesson,
    said: Sequence[Quote],
    occasion: Occasion,
    caller: Caller,
) -> Basis:
    """Say on what a lesson rests, by who said the quotes that were found."""
    speakers = {quote.speaker for quote in said}
    is_judged = occasion.feedback_source in ("test", "environment")
    of_environment = Speaker.TEST in speakers or (
        Speaker.CALL in speakers and (is_judged or lesson.kind == Kind.CHECK)
    )
    # Whether a sentence of a model says what its quote says, code cannot see.
    is_derived = lesson.producer == Producer.RULE and lesson.kind in SHOWN_KINDS
    if of_environment and is_derived and is_believed(project, occasion, caller):
        return Basis.TEST
    if Speaker.PERSON in speakers:
        is_curator = caller.may(Role.CURATOR, project.pk)
        if is_curator and occasion.feedback_source == "human":
            lasts = _lasts(project, lesson, said, occasion)
            return Basis.LASTING if lasts else Basis.PERSON
        return Basis.PERSON
    if lesson.kind == Kind.FIX and has_changed_outcome(said):
        return Basis.CURE
    return Basis.WORD


def _lasts(
    project: Project, lesson: Lesson, said: Sequence[Quote], occasion: Occasion
) -> bool:
    """Whether it is nothing but whole sentences of the feedback, and one says that it lasts."""
    content, own = lesson.content, project.options.lasting_phrases
    spans = sentences.split(content)
    return any(says_it_lasts(content[a:b], own) for a, b in spans) and any(
        quotes.repeat_sentences(content, quotes.source_of(quote, occasion.sources).text)
        for quote in said
        if quote.field == "feedback"
    )


def has_changed_outcome(said: Sequence[Quote]) -> bool:
    """Whether two calls are quoted: one that failed, and one that worked."""
    ends = {q.has_failed for q in said if q.speaker == Speaker.CALL}
    return {True, False} <= ends


def is_shown(said: Sequence[Quote]) -> bool:
    """Whether a person, a test or a changed outcome says it, and not an agent alone."""
    speakers = {quote.speaker for quote in said}
    return bool(speakers & {Speaker.PERSON, Speaker.TEST}) or has_changed_outcome(said)


def to_vote(draft: Draft, entry: PlaybookEntry) -> Draft:
    """Turn a lesson that a rule states already into a vote for the rule.

    It helps if more than an agent's word shows it; of calls and tests if these are believed.
    Otherwise the rule was only met again, as in a session that has taught or confirmed it.
    """
    delta = draft.delta
    said = [Quote(**quote) for quote in delta.evidence]
    is_of_person = any(quote.speaker == Speaker.PERSON for quote in said)
    helps = is_of_person or (draft.is_believed and is_shown(said))
    helps = helps and not (draft.warning or _is_known(entry, delta))
    delta.operation, delta.entry, delta.expected_version = Operation.VOTE, entry, None
    delta.payload["vote"] = "helpful" if helps else "neutral"
    delta.reason = f"{entry.label} teaches this already. {delta.reason}"[:1000]
    return draft


def _is_known(entry: PlaybookEntry, delta: PlaybookDelta) -> bool:
    """Whether the rule, or a vote for it, comes of the same task or session."""
    same = Q(run_id=delta.run_id) if delta.run_id else Q(pk__in=[])
    if delta.session:
        same |= Q(session=delta.session)
    return PlaybookDelta.objects.filter(same, entry=entry).exists()


def _contradict(draft: Draft, entry: PlaybookEntry, caller: Caller) -> Draft:
    """Propose to change the rule, or to retire it if nothing is to stand in its place.

    If more than an agent's word speaks against the rule, it is contested until a person
    decides.
    """
    delta = draft.delta
    if not delta.content or same_text.is_same(delta.content, entry.content):
        delta.operation, delta.content, delta.similarity_hash = (
            Operation.DEPRECATE,
            "",
            "",
        )
        delta.tags = delta.applies_to = None
    if draft.basis != Basis.WORD and caller.attests_in(entry.project_id):
        delta.payload["doubt"] = "contradicted"
    return draft
