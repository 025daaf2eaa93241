"""Take random steps in a playbook, and check its invariants."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from common import errors
from playbook.exchange import import_playbook
from playbook.history import replay, votes
from playbook.history.revision import COUNTERS, SUPPORTS, Cause
from playbook.lessons import person_edits
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.review import (
    bulk,
    decide,
    merge_into_entry,
    revert,
)
from tests.playbook.conftest import propose

BUDGET = 120  # tokens: about eight of the entries below
WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
VOTES = ("helpful", "harmful", "neutral")
# What a revert and its revert leave otherwise: how often the entry was changed.
STAMPS = ("version", "updated_at")
PERSON = ("add", "update", "delete", "restore", "deprecate", "tag", "merge", "import")
LEARNED = ("add", "oppose", "update", "merge", "deprecate", "delete", "vote")
DECISIONS = ("accept", "edit", "reject", "bulk", "undo", "take_up")
REVERTS = ("change", "delta", "run", "revision", "range")
BEGINNING = [
    ("person", "add", 0, 1),
    ("learn", "add", 1, 3),
    ("learn", "add", 2, 4),
    ("person", "add", 3, 2),
    ("use", "", 1, 2),
    ("person", "update", 3, 1),
    ("learn", "oppose", 3, 1),
]


@dataclass
class Chain:
    """A change, the row that reverts it, the row that reverts that one, and so on."""

    rows: list

    @property
    def root(self):
        return self.rows[0]

    @property
    def tail(self):
        return self.rows[-1]

    @property
    def is_in_force(self):
        return len(self.rows) % 2 == 1


def build_chains(rows):
    found = {}
    for row in rows:
        chain = found[row.reverts_id] if row.reverts_id else Chain([])
        chain.rows.append(row)
        found[row.pk] = chain
    return list({id(chain): chain for chain in found.values()}.values())


class History:
    """Takes random steps in a project; what is refused must change nothing."""

    def __init__(self, project, alice, bob, memory, learned):
        self.project, self.alice, self.bob = project, alice, bob
        self.memory, self.learned = memory, learned
        self.seen_labels = {}
        self.runs = [uuid.uuid4() for _ in range(4)]

    def begin(self):
        for step in BEGINNING:
            self.take(step)

    def take(self, step):
        """Do it, and name it, with the code of the refusal if there was one."""
        kind, what, n, other = step
        try:
            getattr(self, kind)(what, n, other)
        except errors.Refusal as refusal:
            return f"{kind} {what}: {refusal.code}"
        return f"{kind} {what}"

    def chosen(self, model, n):
        """One of the newest rows, or nothing while there are none."""
        rows = list(
            model.objects.filter(project_id=self.project.pk).order_by("-pk")[:8]
        )
        if not rows:
            raise errors.NotFound
        return rows[n % len(rows)]

    @staticmethod
    def text(n, other):
        return f"Run `{WORDS[n]}` before {WORDS[other]} in `src/{WORDS[n]}.py`."

    def person(self, operation, n, other):
        if operation == "import":
            return self.take_in(n, other)
        changes, fields = {}, {}
        if operation in ("add", "update"):
            changes = {"content": self.text(n, other), "pinned": bool(other % 2)}
            changes["applies_to"] = [f"tool:{WORDS[n]}"] if other % 2 else []
        if operation == "add":
            changes["category"] = "gotchas"
        if operation == "tag":
            changes = {"tags": [WORDS[n], WORDS[other]]}
        if operation != "add":
            fields["entry"] = self.chosen(PlaybookEntry, n)
        if operation == "merge":
            taken = self.chosen(PlaybookEntry, other)
            fields["targets"] = ({"id": str(taken.pk)},)
        wanted = person_edits.person_change(
            operation, changes, self.alice, reason="a step", **fields
        )
        person_edits.submit_edit(self.project, wanted, self.alice)

    def learn(self, operation, n, other):
        text = self.text(n, other)
        if operation == "oppose":
            text, operation = f"Never {self.chosen(PlaybookEntry, n).content}", "add"
        fields = {"producer": ("rule", "model")[n % 2], "operation": operation}
        if operation != "add":
            entry = self.chosen(PlaybookEntry, n)
            fields |= {"entry": entry, "expected_version": entry.version}
        if operation == "merge":
            taken = self.chosen(PlaybookEntry, other)
            fields["targets"] = ({"id": str(taken.pk), "version": taken.version},)
        if operation == "vote":
            fields |= {"vote": VOTES[other % 3], "content": None}
        if operation in ("deprecate", "delete"):
            fields["content"] = None
        source = ("agent", "test")[other % 2]
        proposal = self.learned(
            text,
            **{
                "feedback_source": source,
                "memory_id": self.memory.pk,
                "run_id": self.runs[(n + other) % 4],
            }
            | fields,
        )
        propose(self.project, [proposal], self.bob)

    def decide(self, what, n, other):
        delta = self.chosen(PlaybookDelta, n)
        if what == "accept":
            decide.accept(delta, self.alice)
        elif what == "edit":
            changes = {"content": self.text(other, n)}
            decide.edit_and_accept(delta, changes, self.alice)
        elif what == "reject":
            decide.reject(delta, self.alice, reason="no")
        elif what == "bulk":
            ids = [delta.pk, self.chosen(PlaybookDelta, other).pk]
            bulk.decide_all(self.project, ids, "accept", self.alice)
        elif what == "undo":
            revert.undo_delta(delta, self.alice, version=delta.version)
        else:
            entry = self.chosen(PlaybookEntry, other)
            merge_into_entry.merge(delta, entry, self.alice)

    def use(self, what, n, other):
        entry = self.chosen(PlaybookEntry, n)
        cause = Cause(run_id=self.runs[other % 4], memory_id=self.memory.pk)
        vote = votes.Vote(entry.pk, VOTES[other % 3])
        supported = [self.chosen(PlaybookEntry, other).pk]
        votes.record(self.project, [vote], supported, cause, self.bob)

    def take_in(self, n, other):
        text = f"[old-00001] helpful={n} harmful=0 :: {self.text(n, other)}\n"
        import_playbook.import_text(self.project, text, self.alice, format="ace")

    def revert(self, what, n, other):
        revert.revert_changes(self.project, self.target(what, n, other), self.alice)

    def again(self, what, n, other):
        """Take something back, and that revert at once: nothing may differ."""
        before = self.plain()
        statuses = self.statuses()
        what = REVERTS[n % len(REVERTS)]
        target = self.target(what, other, n)
        number = revert.revert_changes(self.project, target, self.alice).revision
        back = revert.range_target(self.project, number - 1, number, self.alice)
        try:
            revert.revert_changes(self.project, back, self.alice)
        except errors.Refusal as refusal:
            raise AssertionError("A revert cannot be reverted") from refusal
        assert self.plain() == before
        assert self.statuses() == statuses

    def target(self, what, n, other):
        if what == "change":
            change = self.chosen(PlaybookChange, n)
            return revert.change_target(self.project, change.pk, self.alice)
        if what == "delta":
            delta = self.chosen(PlaybookDelta, n)
            return revert.delta_target(self.project, delta.pk, self.alice)
        if what == "run":
            return revert.run_target(self.project, self.runs[n % 4], self.alice)
        last = self.playbook().revision
        first = max(last - n - 1, 0)
        if what == "revision":
            return revert.range_target(self.project, first, None, self.alice)
        return revert.range_target(self.project, first, first + other, self.alice)

    def playbook(self):
        playbook = Playbook.objects.filter(project=self.project).first()
        if playbook is None:
            raise errors.NotFound
        return playbook

    def plain(self):
        """The state without the stamps; supports in no order."""
        return {
            pk: {name: value for name, value in state.items() if name not in STAMPS}
            | {SUPPORTS: sorted(state[SUPPORTS])}
            for pk, state in replay.current_snapshot(self.project).items()
        }

    def statuses(self):
        return dict(PlaybookDelta.objects.values_list("pk", "status"))

    def check(self):
        present = replay.current_snapshot(self.project)
        assert as_bytes(replay.snapshot_at(self.project)) == as_bytes(present)
        self.check_labels(present)
        self.check_playbook()
        changes = PlaybookChange.objects.filter(project_id=self.project.pk)
        chains = build_chains(changes.in_order())
        self.check_counters(chains, present)
        self.check_deltas(chains)

    def check_labels(self, present):
        labels = {state["label"]: pk for pk, state in present.items()}
        assert len(labels) == len(present)
        for label, pk in self.seen_labels.items():
            assert labels[label] == pk
        self.seen_labels = labels

    def check_playbook(self):
        entries = PlaybookEntry.objects.light().filter(project=self.project)
        playbook = Playbook.objects.get(project=self.project)
        assert playbook.tokens == sum(entry.tokens for entry in entries) <= BUDGET
        assert playbook.next_label == len(entries) + 1
        changes = PlaybookChange.objects.filter(project_id=self.project.pk).order_by()
        numbers = set(changes.values_list("revision", flat=True))
        assert numbers == set(range(1, playbook.revision + 1))

    @staticmethod
    def check_counters(chains, present):
        """The counters are the votes in force, and what additions and merges brought."""
        counted = {pk: dict.fromkeys(COUNTERS, 0) for pk in present}
        for chain in chains:
            assert chain.tail.entry_id == chain.root.entry_id
            is_addition = chain.root.operation == "add"
            if not (chain.is_in_force or is_addition):
                continue
            for name in COUNTERS:
                after = chain.root.after.get(name, 0)
                step = after - chain.root.before.get(name, 0)
                counted[chain.root.entry_id][name] += step
        for pk, state in present.items():
            assert {name: state[name] for name in COUNTERS} == counted[pk]

    @staticmethod
    def check_deltas(chains):
        """A reverted delta has no change in force; one in force has no lost ones."""
        by_delta = {}
        for chain in chains:
            if chain.root.delta_id:
                by_delta.setdefault(chain.root.delta_id, []).append(chain.is_in_force)
        for delta in PlaybookDelta.objects.filter(pk__in=by_delta):
            assert any(by_delta[delta.pk]) == (delta.status in delta.IN_FORCE)
        others = PlaybookDelta.objects.exclude(pk__in=by_delta)
        assert not others.filter(status="reverted").exists()


def as_bytes(states):
    plain = {str(pk): state for pk, state in states.items()}
    return json.dumps(plain, sort_keys=True).encode()
