from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from playbook import tasks
from playbook.history.revision import Cause
from playbook.history.votes import Vote, record
from playbook.lessons import person_edits
from playbook.lessons import tidy as weekly
from playbook.models import Exposure, PlaybookDelta, PlaybookEntry
from playbook.review import decide

RULE = "Always run the database migrations before the test suite starts."
SAME = "Always run database migrations before the test suite starts"


@pytest.fixture
def tidy(project, alice):
    def look():
        steps = weekly.propose_cleanup(project, alice)
        return [delta for deltas in steps for delta in deltas]

    return look


class TestMerges:
    def test_it_proposes_one_entry_for_two_that_say_the_same(self, write, tidy):
        kept, other = write(RULE), write(SAME)

        [delta] = tidy()

        assert (delta.operation, delta.status) == ("merge", "pending")
        assert (delta.entry_id, delta.targets[0]["id"]) == (kept.pk, str(other.pk))
        assert PlaybookEntry.objects.current().count() == 2

    def test_it_keeps_the_one_that_a_person_wrote(self, write, tidy):
        write(RULE, author_kind="rule")
        written = write(SAME)

        assert tidy()[0].entry_id == written.pk

    @pytest.mark.parametrize("policy", ["assisted", "auto"])
    def test_two_that_are_near_wait_for_a_person_under_every_policy(
        self, write, tidy, set_options, policy
    ):
        set_options(policy=policy)
        for n in range(40):
            write(f"Run `step_{n}` before all the others.", author_kind="rule")
        write(RULE, author_kind="rule")
        write(RULE.replace("Always", "Never"), author_kind="rule")

        [delta] = tidy()

        assert (delta.operation, delta.status) == ("merge", "pending")
        assert "or the opposite" in delta.reason
        assert "Never run" in delta.review_note or "Always run" in delta.review_note

    def test_it_asks_once(self, write, tidy):
        write(RULE)
        write(SAME)
        tidy()

        assert tidy() == []

    def test_it_asks_about_each_entry_in_one_proposal_at_a_time(self, write, tidy):
        for text in (RULE, SAME, f"Please {SAME[0].lower()}{SAME[1:]}"):
            write(text)

        assert len(tidy()) == 1

    def test_it_merges_by_itself_where_the_policy_is_auto_and_many_are_left(
        self, write, tidy, set_options
    ):
        set_options(policy="auto")
        for n in range(40):
            write(f"Run `step_{n}` before all the others.", author_kind="rule")
        write(RULE, author_kind="rule")
        other = write(SAME, author_kind="rule")

        [delta] = tidy()

        other.refresh_from_db()
        assert (delta.status, other.status) == ("applied", "superseded")


class TestKeepingBoth:
    def test_it_asks_no_more_once_a_merge_was_rejected(self, write, tidy, alice):
        write(RULE)
        write(SAME)
        [delta] = tidy()

        decide.reject(delta, alice, reason="Both are needed.")

        assert tidy() == []

    def test_it_proposes_again_when_a_text_changes(self, write, tidy, alice, project):
        write(RULE)
        other = write(SAME)
        [delta] = tidy()
        decide.reject(delta, alice, reason="Both are needed.")
        changed = person_edits.change(
            other,
            {"content": f"Please {SAME[0].lower()}{SAME[1:]}"},
            alice,
            reason="",
            version=None,
        )
        person_edits.submit_edit(project, changed, alice)

        assert len(tidy()) == 1

    def test_it_proposes_nothing_about_a_pair_that_a_person_kept(
        self, write, tidy, alice, project, bob
    ):
        write(RULE)
        beside = person_edits.addition(
            {"content": SAME, "category": "gotchas"}, bob, reason=""
        )
        decide.accept(person_edits.submit_edit(project, beside, bob), alice)

        assert tidy() == []


class TestRefuted:
    def test_it_proposes_to_retire_what_its_votes_refute(
        self, write, tidy, project, bob
    ):
        entry = write(author_kind="rule")
        for _ in range(5):
            record(project, [Vote(entry.pk, "harmful")], [], Cause(), bob)

        [delta] = tidy()

        assert (delta.operation, delta.entry_id) == ("deprecate", entry.pk)
        assert tidy() == []


class TestUnused:
    @pytest.fixture
    def rules(self, write):
        made = [write(f"Run `step_{n}` before all the others.") for n in range(40)]
        long_ago = timezone.now() - timedelta(days=100)
        PlaybookEntry.objects.update(updated_at=long_ago, created_at=long_ago)
        return made

    def give(self, entry, **fields):
        given = {"project": entry.project, "entry": entry, "relevance": 0.1}
        Exposure.objects.create(**given | fields)

    def test_it_proposes_to_retire_what_matched_nothing_up_to_the_limit(
        self, rules, tidy
    ):
        for entry in rules:
            self.give(entry)  # the whole playbook had room
        self.give(rules[0], relevance=0.5)
        self.give(rules[1], used_as="followed")

        deltas = tidy()

        assert [delta.operation for delta in deltas] == ["deprecate"] * 2
        assert {delta.status for delta in deltas} == {"pending"}
        assert {rules[0].pk, rules[1].pk}.isdisjoint(d.entry_id for d in deltas)
        assert tidy() == []

    def test_it_proposes_nothing_where_no_agent_asked(self, rules, tidy):
        assert tidy() == []


class TestWeekly:
    def test_a_job_looks_once_a_week_and_proposes_once(self, write, project, run_jobs):
        write(RULE)
        write(SAME)

        for _ in range(2):
            tasks.tidy()
            run_jobs()

        job = Job.objects.get(kind="tidy_playbook")
        assert job.result == {"proposed": 1, "pruned": 0}
        Job.objects.update(created_at=timezone.now() - timedelta(days=8))
        tasks.tidy()
        run_jobs()
        assert Job.objects.filter(kind="tidy_playbook").count() == 2
        assert PlaybookDelta.objects.filter(operation="merge").count() == 1
