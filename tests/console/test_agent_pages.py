"""The pages of the agent: runs, one run as a trace, settings and tools."""

from __future__ import annotations

import pytest
from django.urls import reverse

from agents.models import AgentRun, AgentTool
from agents.tiers.facts import FactDraft, store_fact
from audit.models import AuditEvent
from common.caller import Role
from common.ids import uuid7
from jobs.models import Job

pytestmark = pytest.mark.django_db
STEP = {
    "thought": "Look it <b>up</b>",
    "action": "RetrieveFacts",
    "arguments": {"query": "deploy"},
    "observation": "found <script>alert(1)</script>",
    "is_error": False,
    "is_history": False,
    "call_id": "",
    "took_ms": 12,
}


@pytest.fixture
def a_run(project):
    """Make a run: `a_run(status="failed")`."""

    def make(**fields):
        values = {
            "agent_id": "react-mem",
            "user_id": "42",
            "request": {"question": "Why did it <i>fail</i>?"},
            "has_memory": True,
            "status": "done",
            "steps": [STEP],
            "answer": "A missing token",
            "iterations": 2,
        }
        return AgentRun.objects.create(project=project, **{**values, **fields})

    return make


def page_of(run):
    return reverse("console:agent_run", args=[run.pk])


def html_of(browser, address, project, code=200, **asked):
    answer = browser.get(address, {"project": project.pk, **asked})
    assert answer.status_code == code
    return answer.content.decode()


class TestTheList:
    def test_runs_are_listed_the_newest_first(self, owner, project, a_run):
        first = a_run(request={"question": "first question"})
        second = a_run(request={"question": "second question"})

        html = html_of(owner, reverse("console:agent_runs"), project)

        assert html.index("second question") < html.index("first question")
        assert page_of(first) in html
        assert page_of(second) in html

    def test_it_is_filtered_by_user_and_status(self, owner, project, a_run):
        a_run(user_id="7", request={"question": "of seven"})
        a_run(status="failed", request={"question": "of a failure"})

        by_user = html_of(owner, reverse("console:agent_runs"), project, user="7")
        failed = html_of(owner, reverse("console:agent_runs"), project, status="failed")

        assert "of seven" in by_user
        assert "of a failure" not in by_user
        assert "of seven" not in failed

    def test_a_wrong_filter_is_400(self, owner, project):
        page = reverse("console:agent_runs")
        html_of(owner, page, project, 400, status="zebra")

    def test_older_runs_are_on_the_next_page(self, owner, project, a_run, monkeypatch):
        monkeypatch.setattr("console.agents.views.PAGE", 1)
        a_run(request={"question": "older question"})
        newest = a_run(request={"question": "newest question"})

        first = html_of(owner, reverse("console:agent_runs"), project)
        second = html_of(
            owner, reverse("console:agent_runs"), project, before=newest.pk
        )

        assert "older question" not in first
        assert f"before={newest.pk}" in first
        assert "older question" in second


class TestARun:
    def test_it_shows_question_steps_and_answer_as_text(self, owner, project, a_run):
        html = html_of(owner, page_of(a_run()), project)

        assert "Why did it &lt;i&gt;fail&lt;/i&gt;?" in html
        assert "&lt;script&gt;alert(1)" in html
        assert "<script>alert(1)" not in html
        assert "A missing token" in html

    def test_it_shows_what_was_given_and_learned(self, owner, project, a_run, alice):
        fact = store_fact(project, FactDraft("The host is stage.example.com"), alice)
        run = a_run(
            memory={"facts": [str(fact.pk), str(uuid7())]},
            learned={"facts": [str(fact.pk)], "refused": {"no_quote": 2}},
        )

        html = html_of(owner, page_of(run), project)

        assert html.count("The host is stage.example.com") == 2
        assert "gone, or not yours to see" in html
        assert "2 for no_quote" in html

    def test_a_call_that_waits_is_allowed_by_a_writer(self, owner, project, a_run):
        call = {"action": "Deploy", "arguments": {}, "thought": "", "call_id": ""}
        run = a_run(status="confirming", pending_call=call, answer="")
        html = html_of(owner, page_of(run), project)
        assert "Waits for you" in html

        answer = owner.post(f"{page_of(run)}?project={project.pk}", {"action": "allow"})

        assert answer.status_code == 302
        run.refresh_from_db()
        assert run.status == "queued"
        job = Job.objects.get(kind="agent_run")
        assert job.args["allowed"]["action"] == "Deploy"
        assert AuditEvent.objects.filter(verb="agent.confirm").exists()

    def test_a_run_that_has_ended_cannot_be_cancelled(self, owner, project, a_run):
        run = a_run()

        answer = owner.post(
            f"{page_of(run)}?project={project.pk}", {"action": "cancel"}
        )

        assert answer.status_code == 400
        assert "has ended already" in answer.content.decode()

    def test_a_viewer_changes_nothing(self, browser_of, project, a_run):
        run = a_run(status="queued")

        answer = browser_of(Role.VIEWER).post(
            f"{page_of(run)}?project={project.pk}", {"action": "cancel"}
        )

        assert answer.status_code == 403
        assert AgentRun.objects.get().status == "queued"

    def test_charlie_finds_no_run(self, charlies, project, other_project, a_run):
        run = a_run()

        answer = charlies.get(page_of(run), {"project": other_project.pk})

        assert answer.status_code == 404
        assert "missing token" not in answer.content.decode()


class TestTheAgent:
    def test_tools_are_listed(self, owner, project):
        AgentTool.objects.create(project=project, name="weather", groups=["default"])

        assert "weather" in html_of(owner, reverse("console:agent"), project)

    def post(self, browser, project, **fields):
        form = browser.get(reverse("console:agent"), {"project": project.pk}).context[
            "form"
        ]
        data = {
            name: form.initial.get(name, field.initial)
            for name, field in form.fields.items()
        }
        sent = {n: v for n, v in (data | fields).items() if v not in (None, False)}
        return browser.post(f"{reverse('console:agent')}?project={project.pk}", sent)

    def test_an_owner_stores_the_settings(self, owner, project):
        answer = self.post(
            owner, project, max_iterations=3, enable_episode_recording=False
        )

        assert answer.status_code == 302, answer.context["form"].errors
        project.refresh_from_db()
        assert project.options.agents.max_iterations == 3
        assert project.options.agents.enable_episode_recording is False
        assert project.options.agents.fact_retrieval_top_k == 5

    def test_a_wrong_number_is_said_beside_its_field(self, owner, project):
        answer = self.post(owner, project, max_iterations=0)

        assert answer.status_code == 400
        assert "Max iterations" in answer.content.decode()

    def test_a_curator_stores_nothing(self, curator, project):
        assert self.post(curator, project, max_iterations=3).status_code == 403
