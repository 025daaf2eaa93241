"""The home page: a project's figures, each a link to the rows that it counts."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ace.models import AceRun, Reflection
from common.caller import Role
from common.ids import lowest_id_at, uuid7
from console import weeks
from console.home import charts, flagged_entries, week_charts
from mcp_server.models import HookCount, Push
from memories.models import File, Memory, Tag
from playbook.models import (
    Anchor,
    Exposure,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from projects.models import Project
from tests.admin.conftest import MARK, NOW, queries_of, signed_in

pytestmark = pytest.mark.django_db
# Session, account, roles, the names of projects and the waiting changes of the
# sidebar; the project; eight for the key figures, four charts, five for the
# entries, two for the figures of the week, three tables.
QUERIES = 28
HOME = reverse("admin:index")


def page(browser, status=200, **asked):
    answer = browser.get(HOME, asked)
    assert answer.status_code == status
    return answer


def cards(answer):
    return {card.title: card for card in answer.context["figures"]}


def a_run(project, outcome="success", given=None, **fields):
    run = AceRun.objects.create(
        project=project, agent_id="a", actor="a", request={"goal": "g"}, **fields
    )
    Reflection.objects.create(
        run=run,
        project=project,
        outcome=outcome,
        outcome_source="tests",
        outcome_confidence=1,
    )
    if given:
        Exposure.objects.create(project=project, entry=given, run_id=run.pk)
    return run


def a_delta(project, **fields):
    given = {"operation": "add", "producer": "rule", "proposed_by": "key"}
    given |= {"idempotency_key": str(uuid7()), "content": "Moor at the north berth."}
    return PlaybookDelta.objects.create(project=project, **given | fields)


def a_change(project, run, operation):
    PlaybookChange.objects.create(
        project_id=project.pk,
        revision=PlaybookChange.objects.count() + 1,
        operation=operation,
        action=operation,
        entry_id=uuid7(),
        entry_label="gotchas-00001",
        actor="key",
        run_id=run.pk,
        changed_at=NOW(),
    )


def series(chart):
    return {one.name: [p.value for p in one.points] for one in chart.series}


class TestThePage:
    def test_it_shows_one_project_and_offers_the_others(
        self, superuser, project, other_project
    ):
        html = page(superuser, project=project.pk).content.decode()

        assert project.name in html
        assert f"?project={other_project.pk}" in html

    def test_it_opens_where_an_agent_was_at_work_last_and_counts_what_waits_there(
        self, superuser, project
    ):
        organization = project.organization
        demo, quiet, busy = (
            Project.objects.create(name=name, organization=organization)
            for name in ("demo", "Zermatt", "Zug")
        )
        project.name = "Zinal"
        project.save()
        assert page(superuser).context["project"].name == "Zermatt"
        a_run(quiet)
        a_run(busy)
        a_run(demo)
        a_delta(busy)
        a_delta(demo)

        answer = page(signed_in(superuser.account))

        assert answer.context["project"] == busy
        groups = answer.context["sidebar_navigation"]
        items = [item for group in groups for item in group["items"]]
        badge = next(item["badge"] for item in items if item["title"] == "Review")
        assert badge == '<span data-count="waiting">1</span>'

    def test_a_project_where_somebody_only_remembered_is_at_work_too(
        self, superuser, project, a_memory
    ):
        Project.objects.create(name="Aarau", organization=project.organization)
        a_memory()

        assert page(signed_in(superuser.account)).context["project"] == project

    def test_the_lists_of_the_sidebar_open_on_the_project_that_is_shown(
        self, superuser, project, a_memory
    ):
        other = Project.objects.create(name="own", organization=project.organization)
        a_memory()
        link = f"{reverse('admin:memories_memory_changelist')}?project={other.pk}"
        assert link not in page(superuser, project=project.pk).content.decode()

        assert link in page(superuser, project=other.pk).content.decode()

        answer = superuser.get(link)
        assert answer.context["cl"].result_count == 0
        html = answer.content.decode()
        assert "Only the project" in html
        assert '<a class="am-link" href="?">All projects</a>' in html
        everything = superuser.get(reverse("admin:memories_memory_changelist"))
        assert everything.context["cl"].result_count == 1
        assert "Only the project" not in everything.content.decode()

    def test_the_demo_opens_alone_and_is_then_no_choice(self, superuser, project):
        project.name = "demo"
        project.save()
        assert page(superuser).context["project"] == project
        own = Project.objects.create(name="own", organization=project.organization)

        assert page(superuser).context["project"] == own
        page(superuser, project=project.pk)
        assert page(superuser).context["project"] == project

    def test_a_wrong_project_is_not_found(self, owner, other_project):
        page(owner, status=404, project=other_project.pk)
        page(owner, status=404, project="zebra")

    def test_every_number_leads_to_a_list_that_answers(self, owner, world):
        answer = page(owner)
        links = [card.url for card in answer.context["figures"]]
        for chart in answer.context["charts"]:
            links += [p.url for one in chart.series for p in one.points if p.url]

        assert len(links) > 8
        for link in links:
            assert owner.get(link).status_code == 200, link

    def test_hostile_text_is_only_text(self, owner, world):
        html = page(owner).content.decode()

        assert MARK in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html

    def test_charlie_sees_nothing_of_it(self, charlies, world, project):
        html = page(charlies).content.decode()

        assert MARK not in html
        assert project.name not in html

    def test_a_viewer_is_not_told_to_issue_keys(self, browser_of, project):
        html = page(browser_of(Role.VIEWER)).content.decode()

        assert "First steps" in html
        assert reverse("admin:access_apikey_add") not in html

    def test_the_first_steps_turn_green_one_by_one(self, owner, project, client_of):
        key = client_of(project, role=Role.CURATOR)
        assert page(owner).content.decode().count('class="am-done"') == 1

        task = {
            "project_id": str(project.pk),
            "goal": "List the orders",
            "result": "Ok.",
        }
        learned = {"feedback": "Always sort the orders by their day."}
        key.post("/api/v1/complete-task", task | learned)
        assert page(owner).content.decode().count('class="am-done"') == 1

        taught = {"feedback": "Works. Always show the currency beside a price."}
        told = {"outcome": "success", "feedback_source": "human"}
        key.post("/api/v1/complete-task", task | taught | told)
        assert page(owner).content.decode().count('class="am-done"') == 2

        answer = key.post(
            "/api/v1/context",
            {"project_id": str(project.pk), "task_description": "List the refunds"},
        )
        assert "Always show the currency beside a price." in answer.json()["text"]
        html = page(owner).content.decode()
        assert html.count('class="am-done"') == 3
        assert "First steps: done" in html

    def test_the_sessions_of_a_connected_agent_are_the_steps(self, owner, project):
        HookCount.objects.create(
            project=project,
            key_id=uuid7(),
            harness="codex",
            event="session-start",
            last_at=NOW(),
        )
        html = page(owner).content.decode()
        assert "curl" not in html
        assert html.count('class="am-done"') == 1

        a_run(project)
        Push.objects.create(
            project=project,
            key_id=uuid7(),
            session="s",
            event="tool-failed",
            kind="fix",
            subject="x",
        )

        assert "First steps: done" in page(owner).content.decode()

    def test_it_asks_the_same_queries_however_much_there_is(
        self, owner, project, a_memory, an_entry
    ):
        def fill():
            entry = an_entry(f"gotchas-{uuid7()}", harmful=2)
            Playbook.objects.get_or_create(project=project)
            Tag.objects.create(project=project, name=str(uuid7()))
            a_memory()
            a_change(project, a_run(project, given=entry), "add")
            a_delta(project)
            path = f"src/{uuid7()}.py"
            Anchor.objects.create(entry=entry, project_id=project.pk, file_path=path)
            File.objects.create(
                project=project, file_path=path, attested_change_at=NOW()
            )

        fill()
        page(owner)
        few = len(queries_of(owner, HOME))
        for _ in range(8):
            fill()

        assert len(queries_of(owner, HOME)) == few == QUERIES

    def test_it_draws_without_a_script_in_the_page(self, owner, a_memory):
        a_memory()

        answer = page(owner)

        html = answer.content.decode()
        drawn = re.search(r'data-value="([^"]+)"', html)[1].replace("&quot;", '"')
        assert json.loads(drawn)["datasets"]
        assert "As a table" in html

    def test_it_shows_health_to_an_owner_of_everything(self, superuser, owner):
        assert "Health" in page(superuser).content.decode()
        assert "Health" not in page(owner).content.decode()


class TestWithoutAProject:
    @pytest.fixture
    def stranger(self, db):
        return signed_in(User.objects.create_user("newcomer", is_staff=True))

    def test_a_new_person_reads_whom_to_ask(self, stranger):
        html = page(stranger).content.decode()

        assert "newcomer" in html
        assert "Ask an owner" in html

    def test_an_owner_is_led_to_the_first_project(self, superuser):
        html = page(superuser).content.decode()

        assert reverse("admin:projects_project_add") in html
        assert "Health" in html

    def test_nobody_is_sent_to_the_login_page(self, db):
        assert Client().get(HOME).url.startswith(reverse("admin:login"))


class TestTheNumbersOnTop:
    def test_the_queue_says_how_long_the_oldest_waits(self, owner, project):
        a_delta(project)
        old = a_delta(project)
        PlaybookDelta.objects.filter(pk=old.pk).update(
            created_at=NOW() - timedelta(hours=30)
        )

        card = cards(page(owner))["Waiting changes"]

        assert (card.figure, card.note) == ("2", "the oldest for 30 h")

    def test_the_playbook_is_compared_with_its_budget(self, owner, project):
        Project.objects.update(settings={"budgets": {"playbook_tokens": 2_000}})
        Playbook.objects.create(project=project, tokens=1_500)

        card = cards(page(owner))["Tokens of the playbook"]

        assert (card.figure, card.note) == ("1,500", "of 2,000")
        assert (card.part, card.whole) == (1_500, 2_000)

    def test_the_entries_that_are_due_are_those_of_the_list(
        self, owner, project, an_entry
    ):
        due = an_entry("gotchas-1", review_after=NOW() - timedelta(days=1))
        an_entry("gotchas-2", review_after=NOW() + timedelta(days=1))

        card = cards(page(owner))["Entries due for review"]

        assert card.figure == "1"
        assert list(owner.get(card.url).context["cl"].result_list) == [due]


class TestMemoriesStored:
    def test_they_are_counted_by_type_and_week(self, project, alice, a_memory):
        a_memory(memory_type="decision")
        for _ in range(2):
            old = a_memory(memory_type="warning")
            Memory.objects.filter(pk=old.pk).update(
                created_at=weeks.last_weeks(2)[0].start + timedelta(days=2)
            )

        counts = series(week_charts.memories_stored(project, alice))

        assert counts["Decision"][-2:] == [0, 1]
        assert counts["Warning"][-2:] == [2, 0]

    def test_it_shows_the_share_of_duplicates(self, project, alice, a_memory):
        first = a_memory()
        for _ in range(3):
            a_memory()
        Memory.objects.create(
            project=project,
            organization_id=project.organization_id,
            memory_type="learning",
            content=first.content,
            scope_key=str(project.pk),
            is_duplicate=True,
            duplicate_of=first,
        )

        assert "20 % (1 of 5)" in week_charts.memories_stored(project, alice).note

    def test_a_number_leads_to_as_many_rows(self, owner, project, alice, a_memory):
        a_memory(memory_type="decision")
        a_memory(memory_type="warning")

        chart = week_charts.memories_stored(project, alice)

        [point] = [one.points[-1] for one in chart.series if one.name == "Decision"]
        assert owner.get(point.url).context["cl"].result_count == point.value == 1

    def test_only_the_newest_are_counted(self, project, alice, a_memory, monkeypatch):
        monkeypatch.setattr(week_charts, "MAX_MEMORIES", 2)
        for _ in range(5):
            a_memory()

        chart = week_charts.memories_stored(project, alice)

        assert sum(counts[-1] for counts in series(chart).values()) == 3
        assert "newest 2" in chart.note


class TestGrowth:
    def test_entries_added_and_removed_are_counted_by_week(self, owner, project, alice):
        run = a_run(project)
        for operation in ("add", "add", "delete", "update"):
            a_change(project, run, operation)

        chart = week_charts.playbook_growth(project, alice)

        counts = {name: values[-2:] for name, values in series(chart).items()}
        assert counts == {"Added": [0, 2], "Removed": [0, 1]}
        link = chart.series[0].points[-1].url
        assert owner.get(link).context["cl"].result_count == 2

    def test_charlies_changes_do_not_count(self, other_project, project, alice):
        a_change(other_project, a_run(other_project), "add")

        assert week_charts.playbook_growth(project, alice).is_empty


class TestSuccess:
    def test_tasks_with_and_without_entries_are_separate(
        self, project, alice, an_entry
    ):
        entry = an_entry("gotchas-1")
        for outcome in ("success", "success", "success", "failure"):
            a_run(project, outcome, given=entry)
        for outcome in ("success", "partial", "unknown"):
            a_run(project, outcome)

        chart = week_charts.success(project, alice)

        assert series(chart)["With entries"][-1] == 75
        assert series(chart)["Without"][-1] == 50
        assert "With entries: 75 % (3 of 4)" in chart.note

    def test_a_number_leads_to_the_runs(self, owner, project, alice, an_entry):
        wanted = a_run(project, given=an_entry("gotchas-1"))
        a_run(project)

        [given, none] = week_charts.success(project, alice).series

        assert list(owner.get(given.points[-1].url).context["cl"].queryset) == [wanted]
        assert owner.get(none.points[-1].url).context["cl"].result_count == 1

    def test_that_every_known_task_failed_is_a_number(self, project, alice):
        assert week_charts.success(project, alice).is_empty
        a_run(project, "failure")

        chart = week_charts.success(project, alice)

        assert not chart.is_empty
        assert "Without: 0 % (0 of 1)" in chart.note


class TestAcceptance:
    def test_it_is_the_share_of_what_a_person_decided(self, project, alice):
        for status in ("accepted", "edited", "rejected", "rejected"):
            a_delta(project, status=status, reviewer="bob")
        a_delta(project, status="rejected")
        a_delta(project, status="applied", operation="vote")
        a_delta(project, status="applied", producer="model")

        chart = week_charts.decisions(project, alice)

        assert series(chart)["Rejected"][-1] == 2
        assert series(chart)["Applied"][-1] == 1
        assert "rule 50 % (2 of 4)" in chart.note

    def test_a_number_leads_to_the_proposals(self, owner, project, alice):
        wanted = a_delta(project, status="rejected", reviewer="bob")
        a_delta(project, status="rejected")

        [rejected] = [
            one
            for one in week_charts.decisions(project, alice).series
            if one.name == "Rejected"
        ]

        rows = owner.get(rejected.points[-1].url).context["cl"].queryset
        assert list(rows) == [wanted]


class TestEntries:
    def labels(self, project, caller):
        shown = {
            panel.title: [str(row[0]) for row in panel.rows]
            for panel in flagged_entries.build_panels(project, caller)
        }
        return {
            title: re.findall(r"gotchas-\d+", " ".join(rows))
            for title, rows in shown.items()
        }

    def test_the_most_harmful_come_first(self, project, alice, an_entry):
        an_entry("gotchas-1", harmful=1, helpful=9)
        an_entry("gotchas-2", harmful=3, helpful=9)
        an_entry("gotchas-3", helpful=9)

        shown = self.labels(project, alice)["Most harmful entries"]

        assert shown == ["gotchas-2", "gotchas-1"]

    def test_the_contested_are_those_whose_property_says_so(
        self, project, alice, an_entry
    ):
        made = [
            an_entry("gotchas-1", harmful=2, helpful=2),
            an_entry("gotchas-2", harmful=1, helpful=2),
            an_entry("gotchas-3", helpful=1),
            an_entry("gotchas-4"),
        ]

        shown = self.labels(project, alice)["Most contested entries"]

        assert shown == ["gotchas-1"]
        assert [e.label for e in made if e.is_doubted] == shown

    def test_the_suspect_name_the_file_that_changed(self, project, alice, an_entry):
        entry = an_entry("gotchas-1")
        an_entry("gotchas-2")
        Anchor.objects.create(
            entry=entry, project_id=project.pk, file_path="src/tide.py"
        )
        File.objects.create(
            project=project, file_path="src/tide.py", attested_change_at=timezone.now()
        )

        [*_, suspect] = flagged_entries.build_panels(project, alice)

        assert len(suspect.rows) == 1
        assert "src/tide.py" in suspect.rows[0][2]

    def test_a_retired_entry_is_not_listed(self, project, alice, an_entry):
        an_entry("gotchas-1", harmful=5, status=PlaybookEntry.EntryStatus.DEPRECATED)

        assert not any(self.labels(project, alice).values())


class TestAFigure:
    def test_a_share_of_nothing_is_none(self):
        assert charts.percentage(0, 0) is None
        assert charts.describe_share(0, 0) == "none"

    def test_a_table_has_a_row_for_each_label(self):
        points = [charts.Point(1, url="/x"), charts.Point(None)]
        chart = charts.Chart("T", ["a", "b"], [charts.Series("s", "#000", points)])

        assert [(label, [p.label for p in row]) for label, row in chart.rows] == [
            ("a", ["1"]),
            ("b", ["none"]),
        ]


class TestWeeks:
    def test_a_week_begins_on_monday_and_ends_before_the_next(self):
        week = weeks.parse_label("2026-W47")

        assert week.start == datetime(2026, 11, 16, tzinfo=UTC)
        assert week.end == datetime(2026, 11, 23, tzinfo=UTC)
        assert str(week.later(-47)) == "2025-W52"
        assert str(weeks.week_of(datetime(2027, 1, 1, tzinfo=UTC))) == "2026-W53"

    @pytest.mark.parametrize(
        "wrong", ["", "2026", "2026-W54", "2026-W00", "2026-W7", "1026-W01", "٢٠٢٦-W01"]
    )
    def test_what_is_no_week_is_refused(self, wrong):
        with pytest.raises(weeks.InvalidWeek):
            weeks.parse_label(wrong)

    def test_the_lowest_id_of_a_moment_is_below_later_ids(self):
        before = lowest_id_at(timezone.now() - timedelta(milliseconds=1))

        assert before < uuid7() < lowest_id_at(timezone.now() + timedelta(seconds=1))
