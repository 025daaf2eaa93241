"""Seven gates: what code checks of a change before it decides (docs/ace.md, "Gates")."""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from common.text import literals, same_text, supply
from common.text import plain_text as texts
from inference import tokens
from memories.models import Memory
from memories.queries import PRIVATE_SCOPES
from playbook.history import live_guard, votes
from playbook.history.operations import WRITES_TEXT
from playbook.history.revision import next_label
from playbook.lessons import removal_limit
from playbook.lessons.draft import Draft, Operation, Producer
from playbook.lessons.lesson import Kind, Speaker
from playbook.models import Playbook, PlaybookDelta, PlaybookEntry, format_line
from playbook.rule_text import merge_texts, text_patterns, unsafe_phrases
from projects.own_hosts import find_own_hosts

Verdict = Literal["pass", "warn", "fail"]
_CODE = re.compile(r"`([^`\n]{1,300})`")
_ARGUMENT = re.compile(r'"(\w{1,60})": ?"([^"\n]{1,300})"')
GATES = ("evidence", "worth", "secret", "unsafe", "reach", "room", "limit")
MIN_WORDS, MAX_WORDS = 3, 40  # of a lesson
# The smallest number of words that are not in every lesson: "run migrations" has two.
MIN_SPECIFIC_WORDS = 2
MIN_SCRIPT = 3  # letters
MAX_REMOVED = 0.05  # the share of a playbook that goes without a person


@dataclass(frozen=True)
class GateResult:
    """The result of one gate. A change with a warning waits; a failed one is refused.

    `message` is for the reviewer. If the gate passes, `message` is empty.
    """

    name: str
    verdict: Verdict
    value: float | str
    threshold: float | str
    message: str = ""


def _judge(
    name: str,
    value: float | str = 0,
    threshold: float | str = 0,
    *,
    fails: Iterable[str] = (),
    warns: Iterable[str] = (),
) -> GateResult:
    failed, warned = [*filter(None, fails)], [*filter(None, warns)]
    verdict: Verdict = "fail" if failed else "warn" if warned else "pass"
    message = " ".join(dict.fromkeys([*failed, *warned]))
    return GateResult(name, verdict, value, threshold, message)


def evaluate(
    playbook: Playbook, draft: Draft, *, key_id: uuid.UUID | None = None
) -> list[GateResult]:
    """Run the gates that apply to a change, under the lock of the playbook.

    A person's own text and an import are their own evidence. `key_id` is the key that
    proposes the change.
    """
    delta = draft.delta
    if delta.operation == Operation.FORGET:
        return [check_unsafe(playbook, draft, delta.reason)]
    is_vote = delta.operation == Operation.VOTE
    entries = [] if is_vote else _affected_entries(draft)
    results = [] if draft.was_written else [check_evidence(draft, entries)]
    if is_vote:
        return results
    if delta.content:
        results += [check_worth(draft), _check_secret(draft)]
    text = _resulting_text(draft)
    if text or draft.around:
        results.append(check_unsafe(playbook, draft, text))
    if not draft.was_written and draft.delta.content:
        results.append(_check_reach(draft))
    if delta.operation in (Operation.ADD, Operation.RESTORE):
        results.append(_check_room(playbook, draft))
    if entries and not draft.is_by_person:
        results.append(_check_limit(playbook, draft, entries, key_id))
    return results


def _affected_entries(draft: Draft) -> list[PlaybookEntry]:
    """Load the entry of a change and the other entries of a merge."""
    ids = [target["id"] for target in draft.delta.targets]
    others = PlaybookEntry.objects.light().filter(pk__in=ids) if ids else []
    return [*filter(None, [draft.delta.entry]), *others]


def check_evidence(draft: Draft, entries: Sequence[PlaybookEntry] = ()) -> GateResult:
    """Check that quotes support it, and that it names nothing that nobody named.

    A name stands in the quotes, in what people said and calls showed on the same occasion, or
    in the rule that it rewords.
    """
    delta = draft.delta
    quotes = [quote["quote"] for quote in delta.evidence]
    no_quote = "" if quotes else "No verbatim quote supports it."
    of_text = (Operation.ADD, Operation.UPDATE, Operation.VOTE)
    teaches = bool(delta.kind) or delta.operation in of_text
    removes = delta.operation in (Operation.DELETE, Operation.RESTORE)
    missing = ""
    if delta.content and delta.operation in WRITES_TEXT:
        found = [*quotes, *(entry.content for entry in entries)]
        names = find_ungrounded(delta.content, found)
        if unseen := [name for name in names if not draft.has_seen(name)]:
            missing = (
                f"The evidence does not contain {', '.join(unseen[:5])}; leave it out, or "
                "write it as the evidence has it."
            )
    return _judge(
        "evidence",
        len(quotes),
        1,
        fails=[no_quote if teaches else ""],
        warns=[no_quote if removes else "", missing],
    )


def find_ungrounded(content: str, evidence: Sequence[str]) -> list[str]:
    """Return the numbers, paths and names of a text that the evidence does not have whole."""
    whole = "\n".join(evidence)
    known = {literal.casefold() for literal in literals.find_literals(whole)}
    text = merge_texts.fold(whole)
    return sorted(
        literal
        for literal in literals.find_literals(content)
        if literal.casefold() not in known
        and not merge_texts.has_literal(merge_texts.fold(literal), text)
    )


def check_worth(draft: Draft) -> GateResult:
    """Check that it is one useful sentence that no live rule nearly says already."""
    content = draft.delta.content
    words = len(content.split())
    is_edit = draft.is_by_person or draft.delta.operation == Operation.MERGE
    is_free = is_edit or draft.is_imported
    warns = [] if is_edit else [*find_worthless(content)]
    if not is_free and not MIN_WORDS <= words <= MAX_WORDS:
        warns.append(f"It has {words} words; a lesson has {MIN_WORDS} to {MAX_WORDS}.")
    return _judge("worth", words, MAX_WORDS, warns=[*warns, _describe_near(draft)])


def find_worthless(content: str) -> Iterator[str]:
    items = len(text_patterns.LIST_ITEM.findall(content))
    if items > 1:
        yield f"It is a list of {items} items; a lesson is one idea."
    words = set(text_patterns.WORD.findall(content.lower())) - text_patterns.VAGUE
    if not literals.find_literals(content) and len(words) < MIN_SPECIFIC_WORDS:
        yield "It would be true of every task."
    plain = text_patterns.EXAMPLE.sub(" ", content)
    for name, pattern in text_patterns.ONE_OFFS:
        if pattern.search(plain):
            yield f"It is about one case only: {name}."
            return


def _describe_near(draft: Draft) -> str:
    near, match = draft.match.neighbour, draft.match
    if near and not (match.names_others and draft.is_by_person):
        return (
            f'{near.entry.label} is near: "{texts.clip(near.entry.content, 200)}". The two '
            "may say the same or the opposite: merge them, replace one, or keep both."
        )
    if draft.vector is None and draft.writes_rule and draft.delta.content:
        why = "the import is large" if draft.is_imported else "the model did not answer"
        return f"It was not compared with the playbook: {why}."
    return ""


def _check_secret(draft: Draft) -> GateResult:
    """Check for secrets. The texts are masked already."""
    found = ", ".join(draft.secrets)
    fails = [f"It contains a secret: {found}."] if found else []
    return _judge("secret", len(draft.secrets), 0, fails=fails)


def check_unsafe(playbook: Playbook, draft: Draft, text: str) -> GateResult:
    """Check that nobody is harmed who follows it, and that nobody dictated it.

    What fails is in quarantine. What leads elsewhere, comes from a foreign text or is in a
    script that the project does not use is read by a person.
    """
    hosts = find_own_hosts(playbook.project)
    phrases = unsafe_phrases.find_phrases(text, hosts)
    beside = (unsafe_phrases.find_commands(around) for around in draft.around)
    dictated = next((found for names in beside for found in names), "")
    return _judge(
        "unsafe",
        ", ".join(dict.fromkeys(phrase.kind for phrase in phrases)),
        "",
        fails=[
            unsafe_phrases.describe(phrases),
            dictated
            and f"Beside its quote stands an attack on the reader: {dictated}.",
        ],
        warns=[
            draft.warning or _leads_elsewhere(draft.delta),
            _other_script(playbook, text),
        ],
    )


def _leads_elsewhere(delta: PlaybookDelta) -> str:
    """Say to which other source a text leads, or a fix beside the call that failed."""
    calls = [quote for quote in delta.evidence if quote.get("speaker") == Speaker.CALL]
    if delta.kind != Kind.FIX or not calls:
        return supply.describe_text(delta.content)
    failed = [q["quote"] for q in calls if place_of(q) == place_of(calls[0])]
    cured = [q["quote"] for q in calls if q["field"].endswith(".arguments")]
    said = [*_CODE.findall(delta.content), *cured]
    before, after = _sources_of(failed), _sources_of(said)
    return supply.describe_change(before, after, failed)


def _sources_of(texts: Iterable[str]) -> set[tuple[str, str]]:
    """Return what commands, and arguments as JSON, name as a package, host or the like."""
    found: set[tuple[str, str]] = set()
    for text in texts:
        found |= supply.find_sources(text)
        for name, value in _ARGUMENT.findall(text):
            found |= supply.find_argument_sources(name, value)
    return found


def place_of(quote: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the call that a quote is of: its message, or its number in the run."""
    return (quote.get("id", ""), *str(quote.get("field", "")).split(".")[:2])


def _other_script(playbook: Playbook, text: str) -> str:
    """Say in which script it is, if no live rule is in that script."""
    scripts = scripts_of(text) - {"LATIN"}
    if not scripts:
        return ""
    live = PlaybookEntry.objects.current().filter(project=playbook.project)
    for content in live.values_list("content", flat=True).iterator():
        scripts -= scripts_of(content)
    names = ", ".join(sorted(name.capitalize() for name in scripts))
    return names and f"It is in a script that no other rule has: {names}."


def scripts_of(text: str) -> set[str]:
    """Return the scripts of which a text has more than a symbol."""
    names = (unicodedata.name(each, "?").split()[0] for each in text if each.isalpha())
    counts = Counter(name.partition("-")[0] for name in names)
    return {name for name, count in counts.items() if count >= MIN_SCRIPT}


def _check_reach(draft: Draft) -> GateResult:
    """Check whose agents will read it: what comes from one user's memory is that user's."""
    memory_id = draft.delta.memory_id
    private = Memory.objects.filter(scope_kind__in=PRIVATE_SCOPES)
    is_private = memory_id is not None and private.filter(pk=memory_id).exists()
    warn = (
        "It comes from the memory of one user, so a person decides whether all read it."
    )
    value = "one user" if is_private else "the project"
    return _judge("reach", value, "the project", warns=[warn] if is_private else [])


def _check_room(playbook: Playbook, draft: Draft) -> GateResult:
    """Check the token budget."""
    entry, delta = draft.delta.entry, draft.delta
    label = entry.label if entry else next_label(playbook, delta.category)
    line = format_line(label, entry.content if entry else delta.content)
    budget = playbook.project.options.budgets.playbook_tokens
    total = playbook.tokens + tokens.estimate(line)
    full = "It does not fit in the playbook's token budget."
    return _judge("room", total, budget, fails=[full] if total > budget else [])


def _check_limit(
    playbook: Playbook,
    draft: Draft,
    entries: Sequence[PlaybookEntry],
    key_id: uuid.UUID | None,
) -> GateResult:
    """Check what goes without a person: protected text, names of a rule, 5 % of all."""
    delta = draft.delta
    share = removal_limit.share_removed(playbook, draft, entries, key_id=key_id)
    warns = []
    if share > MAX_REMOVED:
        warns.append(f"It and what went before it remove {share:.0%} of the playbook.")
    for entry in entries if not draft.is_imported else ():
        if entry.is_protected:
            kind = "locked" if entry.locked else "written by a person"
            warns.append(f"{entry.label} is {kind}, so only a person may change it.")
        if warn := _describe_loss(draft, entry):
            warns.append(warn)
    is_doubtful = delta.operation == Operation.DEPRECATE and (
        delta.producer in (Producer.MODEL, Producer.AGENT)
    )
    if is_doubtful and not votes.is_refuted(entries[0]):
        warns.append(f"The votes for {entries[0].label} have not refuted it.")
    return _judge("limit", round(share, 4), MAX_REMOVED, warns=warns)


def _describe_loss(draft: Draft, entry: PlaybookEntry) -> str:
    """Say which words of an entry would be gone though it is only merged or reworded."""
    delta, after = draft.delta, draft.column("content")
    is_rewrite = delta.operation in WRITES_TEXT and bool(delta.content)
    if delta.operation != Operation.MERGE and not is_rewrite:
        return ""
    if is_rewrite and merge_texts.covers(after, entry.content):
        return ""
    if not is_rewrite:
        is_same = same_text.is_same(after, entry.content)
        words = texts.clip(entry.content, 200)
        return "" if is_same else f'{entry.label} has other words: "{words}".'
    names = merge_texts.find_dropped(entry.content, after)
    return f"It drops {', '.join(names[:5]) or 'many words'} of {entry.label}."


def _resulting_text(draft: Draft) -> str:
    """Return the text that the change would make live.

    An entry keeps the columns that the change does not set. Where only tags change, they
    are the text.
    """
    delta, restores = draft.delta, draft.delta.operation == Operation.RESTORE
    if delta.operation not in (*WRITES_TEXT, Operation.RESTORE, Operation.TAG):
        return ""
    entry = delta.entry
    columns = {name: draft.column(name) for name in live_guard.RULE_COLUMNS}
    tags = delta.tags or (entry.tags if entry and restores else ())
    if entry is None or restores or _changes_rule(entry, columns):
        return unsafe_phrases.join_columns(**columns, tags=tags)
    return "\n".join(tags)


def _changes_rule(entry: PlaybookEntry, columns: Mapping[str, str]) -> bool:
    return any(getattr(entry, name) != value for name, value in columns.items())
