"""The pages of sessions: list, transcript, summaries, and what an agent would be given."""

from __future__ import annotations

import pytest
from django.urls import reverse

from audit.models import AuditEvent
from common.caller import Role
from common.ids import uuid7
from console.sessions import views as session_views
from conversations.compaction.compact import CompactionMode, compact
from conversations.formats.message import ChatMessage
from conversations.messages.append import append, prepare
from conversations.models import Session
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.summarizers import ExtractiveSummarizer
from jobs.models import Job

pytestmark = pytest.mark.django_db
LIST = reverse("console:sessions")


@pytest.fixture
def a_session(project, alice):
    """Make a session: `a_session(40, key="main")` has forty messages."""

    def make(count=0, *, key="main", user="42", **fields):
        draft = SessionDraft(key, agent_id="coder", user_id=user, **fields)
        session, _ = bootstrap(project, draft, alice)
        say(session, alice, *(f"Step {n} of the plan" for n in range(1, count + 1)))
        session.refresh_from_db()
        return session

    return make


def say(session, caller, *texts):
    roles = ("user", "assistant")
    messages = [
        ChatMessage(roles[n % 2], ({"type": "text", "text": text},))
        for n, text in enumerate(texts)
    ]
    if messages:
        append(session.project, session, prepare(session.project, messages), caller)


@pytest.fixture
def long_session(a_session, alice):
    session = a_session(80)
    compact(session, ExtractiveSummarizer(), CompactionMode.FULL, alice)
    session.refresh_from_db()
    return session


def html_of(browser, address, project, status=200, **asked):
    answer = browser.get(address, {"project": project.pk, **asked})
    assert answer.status_code == status
    return answer.content.decode()


def page_of(session):
    return reverse("console:session", args=[session.pk])


def link_to(session):
    return f'<a class="am-link" href="{page_of(session)}?'


class TestTheList:
    def test_the_last_active_session_comes_first(
        self, owner, project, a_session, alice
    ):
        first, second = a_session(1, key="first"), a_session(1, key="second")
        say(first, alice, "Again")

        html = html_of(owner, LIST, project)

        assert html.index(link_to(first)) < html.index(link_to(second))

    def test_it_filters_by_user_agent_channel_and_words(
        self, owner, project, a_session
    ):
        mine = a_session(key="mine", user="7", channel="cli", title="Crane repair")
        other = a_session(key="other", user="8", channel="web", title="Boat paint")

        for asked in ({"user": "7"}, {"channel": "cli"}, {"q": "crane"}):
            html = html_of(owner, LIST, project, **asked)
            assert link_to(mine) in html
            assert link_to(other) not in html

    def test_a_session_without_a_user_is_named_by_its_agent(
        self, owner, project, a_session
    ):
        a_session(user="")

        html = html_of(owner, LIST, project)

        assert "coder (agent)" in html
        assert "anonymous</bdi>" not in html

    def test_archived_sessions_are_shown_on_request(self, owner, project, a_session):
        session = a_session()
        owner.post(page_of(session), {"action": "archive"})

        assert link_to(session) not in html_of(owner, LIST, project)
        assert link_to(session) in html_of(owner, LIST, project, archived="on")

    def test_words_of_a_message_lead_to_its_place(
        self, owner, project, a_session, alice
    ):
        session = a_session(30)
        say(session, alice, "The gearbox of the crane is broken")

        html = html_of(owner, LIST, project, q="gearbox")

        assert "gearbox of the crane" in html
        assert "#m31" in html

    def test_it_goes_on_with_older_sessions(
        self, owner, project, a_session, monkeypatch
    ):
        monkeypatch.setattr("console.sessions.views.PAGE", 2)
        made = [a_session(key=f"s{n}") for n in range(3)]

        first = owner.get(LIST, {"project": project.pk})
        html = owner.get(LIST + first.context["next_url"]).content.decode()

        assert link_to(made[0]) in html
        assert link_to(made[2]) not in html

    def test_a_wrong_cursor_is_refused_with_a_sentence(self, owner, project):
        assert "cursor" in html_of(owner, LIST, project, 400, cursor="zebra")


class TestWhoMayRead:
    def test_a_viewer_reads_and_is_offered_no_change(
        self, browser_of, project, long_session
    ):
        viewer = browser_of(Role.VIEWER)

        html = html_of(viewer, page_of(long_session), project)

        assert "Step 1 of the plan" in html
        assert 'name="action"' not in html
        answer = viewer.post(page_of(long_session), {"action": "archive"})
        assert answer.status_code == 403

    def test_charlie_finds_neither_the_session_nor_its_summary(
        self, charlies, other_project, long_session
    ):
        summary = long_session.summaries.first()

        for asked in ({}, {"summary": summary.summary_id, "show": "summaries"}):
            html = html_of(charlies, page_of(long_session), other_project, 404, **asked)
            assert "Step" not in html
        answer = charlies.post(
            f"{page_of(long_session)}?project={other_project.pk}", {"action": "archive"}
        )
        assert answer.status_code == 404
        assert link_to(long_session) not in html_of(charlies, LIST, other_project)


class TestTheTranscript:
    def test_pages_lead_forward_and_back_over_every_message(
        self, owner, project, a_session, monkeypatch
    ):
        monkeypatch.setattr("console.sessions.transcript.PAGE", 20)
        session = a_session(50)
        seen, url = [], f"{page_of(session)}?project={project.pk}"
        while url:
            shown = owner.get(url).context
            seen += [view.row.seq for view in shown["views"]]
            url = shown["later_url"]

        assert seen == list(range(1, 51))
        newest = owner.get(owner.get(page_of(session)).context["newest_url"]).context
        assert [view.row.seq for view in newest["views"]] == list(range(31, 51))
        assert newest["earlier_url"]

    def test_every_kind_of_part_is_shown(self, owner, project, a_session, alice):
        session = a_session()
        named = {"id": "c1", "name": "Bash"}
        parts = (
            {"type": "thinking", "text": "Ponder the berth"},
            {"type": "tool_call", **named, "arguments": {"command": "make berth"}},
            {
                "type": "attachment",
                "media_type": "image/png",
                "name": "berth.png",
                "url": "",
            },
        )
        result = {
            "type": "tool_result",
            **named,
            "content": "no rule",
            "is_error": True,
        }
        spoken = [ChatMessage("assistant", parts), ChatMessage("tool", (result,))]
        append(project, session, prepare(project, spoken), alice)

        html = html_of(owner, page_of(session), project)

        for words in ("Ponder the berth", "make berth", "berth.png", "no rule"):
            assert words in html
        assert "Error of Bash" in html

    def test_a_message_under_a_summary_links_to_it(self, owner, project, long_session):
        leaf = long_session.messages.get(seq=1).leaf

        assert f"summary={leaf.summary_id}" in html_of(
            owner, page_of(long_session), project
        )


class TestTheSummaries:
    def test_the_tree_unfolds_down_to_the_original_words(
        self, owner, project, long_session
    ):
        leaf = long_session.messages.get(seq=1).leaf

        html = html_of(
            owner,
            page_of(long_session),
            project,
            show="summaries",
            summary=leaf.summary_id,
        )

        assert leaf.parent.summary_id in html
        for message in leaf.messages.all():
            assert message.text in html

    def test_folded_it_names_every_range_once(self, owner, project, long_session):
        shown = owner.get(
            page_of(long_session), {"project": project.pk, "show": "summaries"}
        ).context["rows"]

        covered = [n for row in shown for n in range(row.first_seq, row.last_seq + 1)]
        assert covered == list(range(1, 81))
        assert any(row.summary for row in shown)
        assert shown[-1].summary is None

    def test_many_summaries_are_shown_in_pages(
        self, owner, project, a_session, alice, monkeypatch
    ):
        monkeypatch.setattr("console.sessions.summary_tree.MAX_ROOTS", 1)
        session = a_session(60)
        for _ in range(2):
            compact(session, ExtractiveSummarizer(), CompactionMode.INCREMENTAL, alice)
            session.refresh_from_db()
        session.summaries.filter(kind="condensed").delete()
        session.summaries.update(parent=None)
        covered, url = [], f"{page_of(session)}?project={project.pk}&show=summaries"
        while url:
            shown = owner.get(url).context
            rows = shown["rows"]
            covered += [
                n for row in rows for n in range(row.first_seq, row.last_seq + 1)
            ]
            url = shown["more_url"]

        assert covered == list(range(1, 61))

    def test_an_unknown_summary_is_said_to_be_missing(
        self, owner, project, long_session
    ):
        html = html_of(
            owner,
            page_of(long_session),
            project,
            404,
            show="summaries",
            summary="sum_0",
        )
        assert "There is no summary" in html

    def test_a_summary_of_another_session_is_missing(
        self, owner, project, long_session, a_session
    ):
        leaf = long_session.summaries.first()

        html = html_of(
            owner,
            page_of(a_session(1, key="other")),
            project,
            404,
            show="summaries",
            summary=leaf.summary_id,
        )

        assert "This session has no summary" in html

    def test_hits_of_a_session_that_was_purged_meanwhile_are_left_out(
        self, owner, project, long_session, monkeypatch
    ):
        original = session_views.find

        def find_and_purge(*args):
            found = original(*args)
            long_session.messages.all().delete()
            long_session.summaries.all().delete()
            long_session.delete()
            return found

        monkeypatch.setattr(session_views, "find", find_and_purge)

        html = html_of(owner, reverse("console:sessions"), project, q="plan")

        assert "No message matches." in html


class TestTheContext:
    def shown(self, browser, session, **asked):
        answer = browser.get(
            page_of(session),
            {"project": session.project_id, "show": "context", **asked},
        )
        assert answer.status_code == 200
        return answer.context["found"]

    def test_it_is_what_the_api_assembles(
        self, owner, alice_api, project, long_session
    ):
        body = {"project_id": str(project.pk), "token_budget": 500, "fresh_tail": 5}
        url = f"/api/v1/sessions/{long_session.key}/assemble"
        api = alice_api.post(url, body, format="json").json()

        found = self.shown(owner, long_session, budget=500, tail=5)

        assert found.context.tokens == api["tokens"]
        assert [row.item.message.text for row in found.rows] == [
            message["content"] for message in api["messages"]
        ]
        assert sum(share.tokens for share in found.shares) == api["tokens"]

    def test_it_freezes_no_snapshot(self, owner, alice_api, project, long_session):
        body = {
            "project_id": str(project.pk),
            "session": long_session.key,
            "text": "Likes short answers",
        }
        alice_api.put("/api/v1/agent-memory/profile", body, format="json")
        Session.objects.update(snapshot_version=None, snapshot_at=None)

        found = self.shown(owner, long_session, budget=9_000, tail=20, memory="on")

        assert "Likes short answers" in found.system
        long_session.refresh_from_db()
        assert long_session.snapshot_version is None

    def test_a_small_budget_says_what_is_left_out(self, owner, project, long_session):
        html = html_of(
            owner, page_of(long_session), project, show="context", budget=60, tail=2
        )

        assert "over the budget" in html

    @pytest.mark.parametrize("budget", ["0", "zebra", "", "-4", "9" * 30])
    def test_a_wrong_budget_is_refused_with_its_field(
        self, owner, project, a_session, budget
    ):
        html = html_of(
            owner,
            page_of(a_session(3)),
            project,
            400,
            show="context",
            budget=budget,
            tail=3,
        )

        assert "Budget" in html


class TestChanges:
    def act(self, browser, session, status=302, **form):
        answer = browser.post(page_of(session), form)
        assert answer.status_code == status, answer.content.decode()[-2000:]
        session.refresh_from_db()
        return answer.content.decode()

    def test_a_session_is_archived_and_restored(self, owner, a_session):
        session = a_session(2)

        self.act(owner, session, action="archive")
        assert session.is_archived
        self.act(owner, session, action="restore")
        assert not session.is_archived

    def test_a_job_compacts_it(self, owner, a_session, run_jobs):
        session = a_session(80)

        self.act(owner, session, action="compact")
        assert Job.objects.filter(kind="compact_session_on_request").exists()
        run_jobs()

        assert session.summaries.exists()

    def test_a_project_without_a_summarizer_says_so(self, owner, project, a_session):
        project.settings |= {"conversations": {"summarizer": "off"}}
        project.save()

        html = self.act(owner, a_session(30), 400, action="compact")

        assert "no summarizer" in html

    def test_an_undo_hides_and_the_page_counts_what_is_hidden(
        self, owner, project, a_session
    ):
        session = a_session(10)

        self.act(owner, session, action="undo", seq=8)

        assert session.message_count == 7
        html = html_of(owner, page_of(session), project)
        assert "3 hidden" in html
        assert "Step 9" not in html

    def test_a_redaction_needs_a_reason_and_is_audited(self, owner, project, a_session):
        session = a_session(3)

        self.act(owner, session, 400, action="redact", seq=2)
        assert session.messages.get(seq=2).text == "Step 2 of the plan"
        self.act(owner, session, action="redact", seq=2, reason="A name")

        assert "Step 2" not in html_of(owner, page_of(session), project)
        event = AuditEvent.objects.get(verb="session.redact")
        assert event.detail["reason"] == "A name"
        assert str(session.pk) == event.object_id

    @pytest.mark.parametrize(
        "form",
        [
            {},
            {"action": "zebra"},
            {"action": "undo"},
            {"action": "undo", "seq": "x"},
            {"action": "redact", "seq": "99", "reason": "why"},
        ],
    )
    def test_a_wrong_form_changes_nothing_and_says_why(self, owner, a_session, form):
        session = a_session(4)

        html = self.act(owner, session, 400, **form)

        assert 'role="alert"' in html
        assert session.message_count == 4

    def test_a_key_that_looks_like_an_id_shows_no_other_session(
        self, owner, project, a_session
    ):
        session = a_session(2)
        other = a_session(1, key="other")
        # A key of before; today a session of this key is refused.
        Session.objects.filter(pk=other.pk).update(key=str(session.pk))

        html = html_of(owner, page_of(session), project)

        assert "Step 2 of the plan" in html

    def test_an_unknown_session_is_404(self, owner, project):
        html_of(owner, reverse("console:session", args=[uuid7()]), project, 404)
