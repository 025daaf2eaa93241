"""The one way into the playbook: every lesson and every change becomes a delta here.

A delta records what was decided about it and why. What waits, a person decides
(`playbook.review`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from django.db import transaction

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.ids import uuid7
from common.text import same_text, secrets
from playbook import delta_vectors
from playbook.entries import matches, neighbours
from playbook.entries.matches import NO_MATCH, Match
from playbook.history import operations
from playbook.history.revision import DuplicateEntry, lock_playbook
from playbook.lessons import candidates, gates, policy, repeats, taught, waiting
from playbook.lessons.draft import Draft, Operation
from playbook.lessons.lesson import Occasion, TaughtLesson
from playbook.models import Playbook, PlaybookDelta
from playbook.rule_text import applicability
from projects import secret_policy
from projects.models import Project

Status = PlaybookDelta.DeltaStatus
# Of more texts, as a large import has, a job makes the vectors; this many take about 5 s.
MAX_EMBEDDED = 100


@dataclass(frozen=True)
class Prepared:
    """Drafts that were masked, embedded and compared with the entries of a revision."""

    project: Project
    caller: Caller
    drafts: list[Draft]
    revision: int


def take(
    project: Project,
    lessons: Sequence[TaughtLesson],
    occasion: Occasion,
    caller: Caller,
) -> list[PlaybookDelta]:
    """Take the lessons of an occasion, each once however often it is told.

    A lesson whose quotes are not found is stored as rejected, without these quotes. A
    candidate has no delta before the third session that teaches it.
    """
    caller.require(Role.WRITER, project.pk)
    counted = list(candidates.settle(project, lessons, caller))
    left = list(waiting.settle(project, counted, occasion, caller))
    settled = [each for each in left if isinstance(each, PlaybookDelta)]
    others = [each for each in left if isinstance(each, TaughtLesson)]
    drafts = taught.read(project, others, occasion, caller)
    filed = file(prepare(project, drafts, caller)) if drafts else []
    return [*settled, *filed]


def submit(
    project: Project, deltas: Sequence[PlaybookDelta], caller: Caller
) -> list[PlaybookDelta]:
    """Check changes of people and jobs, and apply what the policy allows.

    Return a delta for each, in order; if one with the same idempotency key exists, it is
    returned and nothing is done. If the change of a person is impossible, DuplicateEntry,
    OverBudget, SecretFound, StaleEntry or EntryState is raised.
    """
    drafts = [Draft(delta) for delta in deltas]
    return file(prepare(project, drafts, caller)) if drafts else []


def prepare(project: Project, drafts: Sequence[Draft], caller: Caller) -> Prepared:
    """Mask, embed and compare drafts: the slow steps, before any transaction."""
    caller.require(Role.WRITER, project.pk)
    masked = [_mask(project, _sign(project, draft, caller)) for draft in drafts]
    texts = list(dict.fromkeys(d.delta.content for d in masked if d.delta.content))
    is_large = len(texts) > MAX_EMBEDDED
    embedded = None if is_large else neighbours.embed_texts(texts)
    vectors = dict(zip(texts, embedded, strict=True)) if embedded else {}
    # The revision is read first. If it changes after this line, `file` compares again.
    revision = _current_revision(project)
    with_vectors = (replace(d, vector=vectors.get(d.delta.content)) for d in masked)
    compared = [compare(draft) for draft in with_vectors]
    return Prepared(project, caller, compared, revision)


def _current_revision(project: Project) -> int:
    rows = Playbook.objects.filter(project=project).values_list("revision", flat=True)
    return rows.first() or 0


def _sign(project: Project, draft: Draft, caller: Caller) -> Draft:
    """Set the columns that say who proposes it."""
    delta = draft.delta
    delta.project = project
    delta.proposed_by, delta.key_id = caller.name[:200], caller.key_id
    delta.person = caller.person
    delta.agent_id = delta.agent_id or caller.agent_id
    delta.idempotency_key = delta.idempotency_key or uuid7().hex
    return draft


def _mask(project: Project, draft: Draft) -> Draft:
    """Mask the secrets of all texts; a person's are refused."""
    if project.options.secrets == "allow":
        return draft
    kinds: dict[str, None] = {}

    def clean(value: str) -> str:
        found = secrets.mask(value)
        kinds.update(dict.fromkeys(found.kinds))
        return found.text

    delta = draft.delta
    for name in ("content", "reason", "expires_when"):
        setattr(delta, name, clean(getattr(delta, name)))
    for name in {"condition", "action"} & delta.payload.keys():
        delta.payload[name] = clean(str(delta.payload[name] or ""))
    if delta.tags is not None:
        delta.tags = [clean(tag) for tag in delta.tags]
    if delta.applies_to is not None:
        delta.applies_to = list(applicability.keep_valid(map(clean, delta.applies_to)))
    delta.evidence = [q | {"quote": clean(q["quote"])} for q in delta.evidence]
    if kinds and delta.content:
        delta.similarity_hash = same_text.hash_text(delta.content)
    if kinds and draft.is_by_person:
        secret_policy.refuse(list(kinds))
    return replace(draft, secrets=tuple(kinds))


def compare(draft: Draft) -> Draft:
    """Compare the text with the live rules, as these are now.

    A lesson that a rule states already is a vote for the rule.
    """
    delta = draft.delta
    if delta.entry_id:
        # The caller may have read the entry before this revision.
        delta.entry = operations.load_entry(delta.entry_id)
    match = find_match(draft)
    if match.verdict == "same" and match.neighbour and draft.is_lesson:
        return taught.to_vote(replace(draft, match=match), match.neighbour.entry)
    return replace(draft, match=match)


def find_match(draft: Draft) -> Match:
    """Compare the text that a change would write with the live rules."""
    delta = draft.delta
    if not (draft.writes_rule and delta.content):
        return NO_MATCH
    own = {uuid.UUID(str(target["id"])) for target in delta.targets}
    return matches.compare_with_entries(
        delta.project_id,
        delta.content,
        draft.vector,
        without=own | ({delta.entry_id} if delta.entry_id else set()),
    )


@write
def file(prepared: Prepared) -> list[PlaybookDelta]:
    """Write the deltas of prepared drafts, and apply what the policy allows."""
    playbook = lock_playbook(prepared.project)
    deltas = [
        delta
        for draft in prepared.drafts
        for delta in _file_one(playbook, draft, prepared)
    ]
    waits = any(delta.status == Status.PENDING for delta in deltas)
    if waits and any(d.delta.content and not d.vector for d in prepared.drafts):
        delta_vectors.embed_later(prepared.project.pk)
    return deltas


def _file_one(
    playbook: Playbook, draft: Draft, prepared: Prepared
) -> Iterator[PlaybookDelta]:
    caller, delta = prepared.caller, draft.delta
    known = PlaybookDelta.objects.filter(idempotency_key=delta.idempotency_key)
    if earlier := known.first():
        yield earlier
        return
    if playbook.revision != prepared.revision:
        # Another writer, or an earlier draft of this list, may have added the same rule.
        draft = compare(draft)
    if draft.is_candidate and delta.operation == Operation.ADD:
        counted = candidates.count(draft)
        if counted is None:
            return
        draft = counted
    _refuse_duplicate(draft)
    results = gates.evaluate(playbook, draft, key_id=caller.key_id)
    decision = policy.decide(playbook.project, draft, results, caller)
    decision = repeats.reconsider(draft, decision, caller)
    delta.gates = [asdict(result) for result in results]
    delta.status, delta.risk = decision.status, decision.risk
    delta.review_note = decision.reason[:1000]
    delta.served_persons = list(decision.served)
    if decision.repeats:
        delta.payload["repeats"] = str(decision.repeats)
    _store(playbook, draft, caller)
    if decision.confirms:
        repeats.confirm(playbook, decision.confirms, delta, caller)
    yield delta


def _refuse_duplicate(draft: Draft) -> None:
    """Raise DuplicateEntry if a person adds a text that an active entry has."""
    delta, near = draft.delta, draft.match.neighbour
    is_addition = delta.operation == Operation.ADD and draft.is_by_person
    if is_addition and near and near.entry.similarity_hash == delta.similarity_hash:
        raise DuplicateEntry(
            f"{near.entry.label} already says this; change that entry instead.",
            entry_id=str(near.entry.pk),
        )


def _store(playbook: Playbook, draft: Draft, caller: Caller) -> None:
    delta, near = draft.delta, draft.match.neighbour
    if near:
        delta.payload["near"] = {
            "entry_id": str(near.entry.pk),
            "label": near.entry.label,
            "similarity": near.similarity,
            "similarity_hash": near.entry.similarity_hash,
        }
    if delta.status == Status.PENDING:
        _pin_versions(delta)
    delta.save(force_insert=True)
    delta_vectors.keep(delta, draft.vector)
    if delta.status == Status.APPLIED:
        _apply(playbook, draft, caller)
    if delta.status != Status.APPLIED:
        # The revision of an applied delta writes its audit rows.
        trail.record(
            caller,
            "delta.propose",
            project_id=delta.project_id,
            object_type="playbook_delta",
            object_id=delta.pk,
            operation=delta.operation,
            status=delta.status,
        )


def _apply(playbook: Playbook, draft: Draft, caller: Caller) -> None:
    """Apply a delta; one that is refused is stale or rejected, or raises for a person."""
    delta = draft.delta
    try:
        with transaction.atomic():
            operations.apply(
                playbook, delta, caller, status=Status.APPLIED, vector=draft.vector
            )
    except errors.Refusal as refusal:
        if draft.is_by_person:
            raise
        playbook.refresh_from_db()
        is_stale = isinstance(refusal, operations.StaleEntry)
        delta.status = Status.STALE if is_stale else Status.REJECTED
        delta.review_note = refusal.detail[:1000]
        delta.save(update_fields=["status", "review_note"])


def _pin_versions(delta: PlaybookDelta) -> None:
    """Fill in the current versions of the delta's entries; versions that it names stay."""
    if delta.entry and delta.expected_version is None:
        delta.expected_version = delta.entry.version
    for target in delta.targets:
        if target.get("version") is None:
            entry = operations.load_entry(uuid.UUID(str(target["id"])))
            target["version"] = entry.version
