from __future__ import annotations

import pytest

from memories.store import files
from playbook.history.votes import Vote
from playbook.lessons import learn
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reading import renderer
from playbook.review import decide, verification
from tests.playbook.conftest import occasion

RULE = "Keep the table of routes in `src/urls.py` in the order of the manual."
ENTRIES = "/api/v1/playbook/rules"


@pytest.fixture
def harm(project, alice):
    """A task of a key that may attest fails on what the entry is about."""

    def tell(entry, *, by=None, at=None, **fields):
        vote = Vote(entry.pk, "harmful", "It failed.")
        at = at or occasion(outcome="failure", **fields)
        learn.learn(project, [], [vote], [], at, by or alice)
        entry.refresh_from_db()

    return tell


@pytest.fixture
def is_marked(project, alice, alice_api):
    """Whether agents, the API and a task's context give the entry as contested."""

    def ask(entry):
        [rendered] = [
            one
            for one in renderer.render(project, alice).rendered_entries
            if one.entry.pk == entry.pk
        ]
        shown = alice_api.get(f"{ENTRIES}/{entry.pk}").json()
        context = alice_api.post(
            "/api/v1/context",
            {"project_id": str(project.pk), "task_description": entry.content},
        ).json()
        assert shown["is_contested"] == rendered.is_contested
        assert ("contested" in rendered.line) == rendered.is_contested
        line = next(row for row in context["text"].split("\n") if entry.label in row)
        assert ("(contested)" in line) == rendered.is_contested
        return rendered.is_contested

    return ask


def doubts(**found):
    return list(PlaybookDelta.objects.casting_doubt().filter(**found))


@pytest.mark.django_db
class TestVotes:
    def test_a_harmful_vote_puts_an_entry_in_doubt(self, write, harm, is_marked):
        entry = write(RULE, author_kind="rule")

        harm(entry)

        [delta] = doubts()
        assert (delta.operation, delta.entry_id) == ("deprecate", entry.pk)
        assert delta.payload["doubt"] == "votes"
        assert is_marked(entry)

    def test_one_task_gives_one_proposal(self, write, harm):
        entry, at = write(RULE, author_kind="rule"), occasion(outcome="failure")

        for _ in range(2):
            harm(entry, at=at)
        harm(entry)

        assert len(doubts()) == 1

    def test_votes_of_keys_that_may_not_attest_propose_nothing(
        self, write, harm, bob, is_marked
    ):
        entry = write(RULE, author_kind="rule")

        harm(entry, by=bob, feedback_source="agent")

        assert not doubts()
        assert not is_marked(entry)

    def test_it_waits_under_the_policy_auto(self, write, harm, set_options):
        set_options(policy="auto")
        entry = write(RULE, author_kind="rule")

        harm(entry)

        assert entry.status == "active"
        assert len(doubts()) == 1

    def test_an_entry_that_mostly_helped_is_not_doubted(self, write, harm, is_marked):
        entry = write(RULE, author_kind="rule")
        PlaybookEntry.objects.filter(pk=entry.pk).update(helpful=3)

        harm(entry)

        assert not doubts()
        assert not is_marked(entry)


@pytest.mark.django_db
class TestOtherEvidence:
    def test_the_correction_of_a_person_outweighs_helpful_votes(
        self, write, harm, is_marked
    ):
        entry = write(RULE)
        PlaybookEntry.objects.filter(pk=entry.pk).update(helpful=3)

        harm(entry, feedback_source="human")

        [delta] = doubts()
        assert delta.payload["doubt"] == "correction"
        assert is_marked(entry)

    @pytest.mark.parametrize("who", ["alice", "bob"])
    def test_a_gone_file_counts_from_a_key_that_may_attest(
        self, request, write, project, who
    ):
        entry = write(RULE)
        caller = request.getfixturevalue(who)
        files.sync(project, {"src/urls.py": "1"}, caller)

        for _ in range(2):
            files.sync(project, {"src/urls.py": None}, caller)

        found = doubts(entry=entry)
        assert len(found) == (who == "alice")
        assert all(delta.payload["doubt"] == "files" for delta in found)
        assert all('"src/urls.py"' in delta.reason for delta in found)

    def test_a_changed_file_is_no_gone_file(self, write, project, alice):
        write(RULE)

        for digest in ("1", "2"):
            files.sync(project, {"src/urls.py": digest}, alice)

        assert not doubts()


@pytest.mark.django_db
class TestDecision:
    def test_a_rejection_confirms_the_entry(self, write, harm, is_marked, alice):
        entry = write(RULE, author_kind="rule")
        harm(entry)

        decide.reject(doubts()[0], alice, reason="The task was wrong.")

        entry.refresh_from_db()
        assert entry.verified_at
        assert (entry.harmful, entry.helpful) == (1, 0)
        assert not is_marked(entry)

    def test_new_evidence_puts_it_in_doubt_again(self, write, harm, is_marked, alice):
        entry = write(RULE, author_kind="rule")
        harm(entry)
        decide.reject(doubts()[0], alice, reason="The task was wrong.")

        harm(entry)

        assert len(doubts()) == 1
        assert is_marked(entry)

    def test_an_acceptance_retires_it(self, write, harm, alice):
        entry = write(RULE, author_kind="rule")
        harm(entry)

        decide.accept(doubts()[0], alice)

        entry.refresh_from_db()
        assert entry.status == "deprecated"

    def test_a_verification_ends_the_doubt(self, write, harm, is_marked, alice):
        entry = write(RULE)
        harm(entry, feedback_source="human")

        verification.verify(entry, alice, note="It holds.")

        assert not doubts()
        closed = PlaybookDelta.objects.get(entry=entry, operation="deprecate")
        assert (closed.status, closed.reviewer) == ("rejected", "alice")
        assert not is_marked(entry)
