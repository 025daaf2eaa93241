"""What the agents learned in a week: on a page, and as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from markdown_it import MarkdownIt

from common.caller import Role
from common.ids import uuid7
from console import weeks
from console.weekly import week_markdown, week_summary
from memories.models import MemoryExposure
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.lessons import person_edits
from playbook.models import (
    Exposure,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.review import decide, revert
from tests.admin.conftest import HOSTILE, MARK, queries_of
from tests.console.conftest import TEXT, add
from tests.playbook.conftest import reword

pytestmark = pytest.mark.django_db
# Session, account, roles, the names of projects and the waiting changes of the
# sidebar; the project; changes, harmful votes, entries, deltas, conflicts, exposures of
# rules and of memories; for the figures lessons and memories.
QUERIES = 14
WEEKLY = reverse("console:weekly")


def page(browser, project, status=200, **asked):
    answer = browser.get(WEEKLY, {"project": project.pk, **asked})
    assert answer.status_code == status
    return answer


def this_week(project, caller):
    return week_summary.summarise(project, weeks.last_weeks(1)[0], caller)


def labels(found):
    return {kind: [one.label for one in made] for kind, made in found.lessons.items()}


def a_proposal(project, **fields):
    given = {
        "operation": "add",
        "content": "Moor at the south berth at low tide.",
        "category": "gotchas",
        "producer": "rule",
        "proposed_by": "key",
        "idempotency_key": str(uuid7()),
        "evidence": [{"field": "result", "start": 0, "end": 4, "quote": "Moor"}],
    }
    return PlaybookDelta.objects.create(project=project, **given | fields)


class TestUse:
    def test_it_says_what_agents_were_given_and_how_they_used_it(self, project, alice):
        entry = add(project, alice, TEXT)
        for used_as in ("file", "file", ""):
            Exposure.objects.create(project=project, entry=entry, used_as=used_as)

        found = this_week(project, alice)

        assert found.uses == [
            "Agents were given a rule 3 times; 2 were used: 2 because the task touched a "
            "file that it names."
        ]
        text = week_markdown.render_markdown(found, "alpha", str)
        assert f"- {week_markdown.escape_text(found.uses[0])}" in text

    def test_the_page_says_it_of_memories_too(self, owner, project, a_memory):
        MemoryExposure.objects.create(
            project=project, memory=a_memory(), key_id=uuid7(), used_as="cited"
        )

        html = page(owner, project).content.decode()

        assert (
            "Agents were given a memory once; 1 was used: 1 because the agent cited it."
            in html
        )


class TestFigures:
    def test_a_lesson_that_waits_and_a_memory_are_no_empty_week(
        self, owner, project, alice, a_memory
    ):
        a_memory()
        of_task = {"run_id": uuid7()}
        a_proposal(project, **of_task)
        own_words = a_proposal(project, content="Read the tide table.", **of_task)
        decide.accept(own_words, alice)
        PlaybookDelta.objects.filter(pk=own_words.pk).update(producer="human")
        retired = decide.accept(a_proposal(project, content="Ring.", **of_task), alice)
        PlaybookEntry.objects.filter(pk=retired.entry_id).update(status="deprecated")
        a_proposal(project, status="rejected", **of_task)
        a_proposal(project, content="Imported.")

        html = page(owner, project).content.decode()

        said = (
            "3 lessons were learned from tasks: 1 live as a rule, 1 waiting for a person, "
            "1 rejected, undone or retired."
        )
        assert said in html
        assert "1 memory was stored." in html
        assert "Nothing new was learned" not in html

    def test_home_says_it_in_one_sentence_that_leads_to_weekly(
        self, owner, project, a_memory
    ):
        a_memory()

        html = owner.get(reverse("admin:index"), {"project": project.pk}).content

        said = "This week no lesson was learned from a task, and 1 memory was stored."
        assert said in html.decode()
        assert f"{WEEKLY}?project={project.pk}" in html.decode()


class TestWhatWasLearned:
    def test_an_entry_is_new_in_the_week_that_added_it(self, project, alice):
        entry = add(project, alice)

        found = this_week(project, alice)

        assert labels(found)[week_summary.NEW] == [entry.label]
        [lesson] = found.lessons[week_summary.NEW]
        assert lesson.text == TEXT
        assert lesson.decided_by == "alice"

    def test_an_older_entry_is_changed_or_refuted(self, project, alice):
        entry = add(project, alice)
        other = add(project, alice, "Read the tide table first.")
        last_week(PlaybookChange.objects.all())
        reword(entry, alice, "Moor at the south berth.")
        wanted = person_edits.removal(
            other, alice, reason="untrue", version=other.version
        )
        person_edits.submit_edit(project, wanted, alice)

        found = this_week(project, alice)

        assert labels(found) == {
            week_summary.NEW: [],
            week_summary.CHANGED: [entry.label],
            week_summary.REFUTED: [other.label],
        }
        assert found.lessons[week_summary.CHANGED][0].text == "Moor at the south berth."

    def test_it_says_who_decided_on_what_evidence(self, project, alice):
        delta = decide.accept(a_proposal(project), alice)

        [lesson] = this_week(project, alice).lessons[week_summary.NEW]

        assert delta.reviewer == lesson.decided_by == "alice"
        assert lesson.evidence == "1 quote"

    def test_a_decision_undone_and_made_again_is_one_of_who_accepted(
        self, project, alice
    ):
        delta = decide.accept(a_proposal(project), alice)
        carol = replace(alice, name="carol")
        for _ in range(2):
            delta.refresh_from_db()
            version = delta.version
            revert.undo_delta(delta, carol, reason="wrong click", version=version)

        [lesson] = this_week(project, alice).lessons[week_summary.NEW]

        assert lesson.decided_by == "alice"
        assert lesson.evidence == "1 quote"

    def test_a_change_by_the_policy_says_so(self, project, alice):
        decide.accept(a_proposal(project), alice)
        PlaybookDelta.objects.update(reviewer="", status="applied")

        [lesson] = this_week(project, alice).lessons[week_summary.NEW]

        assert lesson.decided_by == "the policy, as a rule proposed"

    def test_harmful_votes_are_listed(self, project, alice):
        entry = add(project, alice)
        last_week(PlaybookChange.objects.all())
        vote(project, entry, "harmful", alice)
        vote(project, entry, "harmful", alice)
        vote(project, entry, "helpful", alice)

        found = this_week(project, alice)

        assert [(one.label, one.harmful) for one in found.contested] == [
            (entry.label, 2)
        ]
        assert not any(found.lessons.values())

    def test_another_week_has_none_of_it(self, project, alice):
        add(project, alice)

        before = week_summary.summarise(project, weeks.last_weeks(2)[0], alice)

        assert before.is_empty

    def test_it_says_that_more_changes_exist(self, project, alice, monkeypatch):
        monkeypatch.setattr(week_summary, "MAX_CHANGES", 1)
        add(project, alice)
        add(project, alice, "Read the tide table first.")

        found = this_week(project, alice)

        assert found.is_cut
        assert sum(map(len, found.lessons.values())) == 1


def last_week(rows):
    """Move changes back in time; the product cannot, because history is append-only."""
    from common.append_only import allow_changes

    with allow_changes():
        rows.update(changed_at=weeks.last_weeks(1)[0].start - timedelta(days=1))


def vote(project, entry, kind, caller):
    cause = Cause(run_id=uuid7())
    votes.record(project, [votes.Vote(entry.pk, kind)], [], cause, caller)


class TestThePage:
    def test_it_leads_to_the_entries_and_to_the_weeks_around(
        self, browser_of, project, alice
    ):
        entry = add(project, alice)
        week = weeks.last_weeks(2)[0]

        html = page(browser_of(Role.VIEWER), project).content.decode()

        assert reverse("admin:playbook_playbookentry_change", args=[entry.pk]) in html
        assert f"week={week}" in html
        assert "Week after" not in html
        assert (
            "Week after"
            in page(
                browser_of(Role.VIEWER, name="eve"), project, week=week
            ).content.decode()
        )

    def test_an_empty_week_says_what_to_do(self, owner, project):
        html = page(owner, project, week="2020-W01").content.decode()

        assert "Nothing was learned or given in this week" in html

    @pytest.mark.parametrize("wrong", ["2026-W99", "zebra", "%00", "9" * 5_000])
    def test_an_invalid_week_is_refused_with_a_message(self, owner, project, wrong):
        html = page(owner, project, status=400, week=wrong).content.decode()

        assert "That is not a week" in html

    def test_charlie_sees_nothing_of_it(self, charlies, world, project):
        assert MARK not in charlies.get(WEEKLY).content.decode()
        page(charlies, project, status=404)
        page(charlies, project, status=404, format="markdown")

    def test_hostile_text_is_only_text(self, owner, world, project):
        html = page(owner, project).content.decode()

        assert MARK in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html

    def test_it_asks_the_same_queries_however_much_there_is(
        self, owner, project, alice
    ):
        def fill(number):
            entry = add(project, alice, f"Read tide table {number} first.")
            vote(project, entry, "harmful", alice)

        fill(0)
        page(owner, project)
        few = len(queries_of(owner, WEEKLY))
        for number in range(1, 6):
            fill(number)

        assert len(queries_of(owner, WEEKLY)) == few == QUERIES


class TestMarkdown:
    def test_it_is_a_file_with_links(self, owner, project, alice):
        entry = add(project, alice)

        answer = page(owner, project, format="markdown")

        assert answer["Content-Type"] == "text/markdown; charset=utf-8"
        name = f"{project.name}-{weeks.last_weeks(1)[0]}.md"
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        path = reverse("admin:playbook_playbookentry_change", args=[entry.pk])
        assert f"](http://testserver{path})" in answer.content.decode()

    @pytest.mark.parametrize(
        "hostile",
        [
            HOSTILE[:400],
            "</p><script>alert(1)</script>",
            "[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
            "# heading\n\n- item\n\n> quote\n\n```\ncode\n```\n\n---",
            "https://evil.example www.evil.example a@evil.example <b>bold</b>",
            "| a | b |\n|---|---|\n| 1 | 2 | ~~no~~ **no** _no_ `no` $no$",
            "[ref]: http://evil.example\n\n&lt;script&gt; \\<i>",
            "\u202eabc \u2066def",
        ],
    )
    def test_hostile_text_stays_text(self, hostile):
        reader = MarkdownIt("gfm-like", {"html": True, "linkify": False})

        shown = reader.render(f"- **label** {week_markdown.escape_text(hostile)}\n")

        tags = set(re.findall(r"<(/?\w+)", shown))
        assert tags <= {"ul", "/ul", "li", "/li", "strong", "/strong"}
        assert not re.search("[\u202e\u2066]", shown)

    def test_plain_text_is_what_it_was(self):
        plain = "When calling `edit_file` pass [path] & not <file>: 5 * 3 #1!"

        shown = MarkdownIt("commonmark").render(week_markdown.escape_text(plain))

        assert (
            shown.strip() == "<p>When calling `edit_file` pass [path] &amp; not "
            "&lt;file&gt;: 5 * 3 #1!</p>"
        )

    def test_it_says_of_an_empty_week_that_nothing_was_learned(self, owner, project):
        text = page(owner, project, week="2020-W01", format="markdown")

        assert text.content.decode().count("Nothing.") == 4

    def test_a_hostile_world_makes_no_tag(self, owner, world, project):
        text = page(owner, project, format="markdown").content.decode()

        shown = MarkdownIt("commonmark").render(text)
        assert MARK in shown
        assert "<script>" not in shown
        assert "<img" not in shown
        assert PlaybookEntry.objects.count() == 2
