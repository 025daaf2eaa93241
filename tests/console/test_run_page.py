"""The page of a run: its phases, its results, the context of a quote, resuming."""

from __future__ import annotations

import pytest
from django.urls import reverse

from ace import run as runs
from ace.models import AceRun
from ace.rules import task as tasks
from common.caller import Role
from playbook.models import PlaybookDelta, PlaybookEntry
from tests.admin.conftest import SCRIPT
from tests.admin.test_actions import do

pytestmark = pytest.mark.django_db

RULE = "Always run `make check` before you push."
TASK = {
    "agent_id": "coder",
    "goal": "Mend the import",
    "result": "Mended.",
    "feedback": f"{SCRIPT} seen. {RULE}",
    "feedback_source": "human",
    "outcome": "success",
}


@pytest.fixture
def run(project, alice):
    return runs.complete(project, TASK, alice)


def page(run):
    return reverse("admin:ace_acerun_change", args=[run.pk])


def panel(html, title):
    return html.partition(f"<h2>{title}")[2].partition("</section>")[0]


class TestThePageOfARun:
    def test_it_draws_how_long_each_phase_took(self, curator, run):
        took = {"executor": 30.0, "reflector": 10.0, "curator": 0.0}
        for name, ms in took.items():
            run.phases[name]["took_ms"] = ms
        run.save()

        drawn = panel(curator.get(page(run)).content.decode(), "Phases")

        assert '<rect x="0.00" width="75.00"' in drawn
        assert '<rect x="75.00" width="25.00"' in drawn
        assert "30.0 ms" in drawn

    def test_it_shows_the_results_and_their_present_state(self, curator, run):
        entry = PlaybookEntry.objects.get()
        do(curator, run, "revert", "a bad task")

        came = panel(curator.get(page(run)).content.decode(), "Results")

        assert reverse("admin:memories_memory_change", args=[run.memory_id]) in came
        assert "current" in came
        assert reverse("admin:playbook_playbookentry_change", args=[entry.pk]) in came
        assert PlaybookDelta.objects.get(run_id=run.pk).status == "reverted"
        assert "reverted" in came
        assert "deleted" in came

    def test_a_link_leads_to_the_place_of_a_quote(self, curator, run):
        text = tasks.parse(run.request).text("feedback")
        start = text.index(RULE)
        asked = {"field": "feedback", "start": start, "end": start + len(RULE)}

        html = curator.get(page(run), asked).content.decode()

        assert f"<mark>{RULE}</mark>" in panel(html, "The quote in feedback")
        assert "<script>alert" not in html

    @pytest.mark.parametrize(
        "asked",
        [
            {"field": "zebra", "start": 0, "end": 1},
            {"field": "feedback", "start": "x", "end": 1},
            {"field": "feedback", "start": "9" * 30, "end": 1},
            {"field": "feedback"},
        ],
    )
    def test_a_position_outside_the_text_is_skipped(self, curator, run, asked):
        answer = curator.get(page(run), asked)

        assert answer.status_code == 200
        assert "The quote in" not in answer.content.decode()


class TestResuming:
    @pytest.fixture
    def broken(self, project, alice, monkeypatch):
        def breaks(run, caller):
            raise RuntimeError("no rope")

        with monkeypatch.context() as patched:
            patched.setitem(runs.PHASES, "reflector", breaks)
            run = runs.complete(project, TASK, alice)
        AceRun.objects.filter(pk=run.pk).update(state="failed")
        return run

    def test_a_writer_resumes_it_where_it_failed(self, browser_of, broken):
        writer = browser_of(Role.WRITER)
        assert "no rope" in writer.get(page(broken)).content.decode()

        do(writer, broken, "resume")

        assert broken.state == "done"
        assert PlaybookDelta.objects.filter(run_id=broken.pk).exists()

    def test_a_viewer_is_neither_offered_nor_allowed_it(self, browser_of, broken):
        viewer = browser_of(Role.VIEWER)

        [told] = do(viewer, broken, "resume")

        assert "needs the role writer" in told
        assert broken.state == "failed"
        assert "do/resume" not in viewer.get(page(broken)).content.decode()

    def test_a_finished_one_is_not_offered_it(self, curator, run):
        assert "do/resume" not in curator.get(page(run)).content.decode()

    def test_charlie_cannot(self, charlies, broken):
        charlies.post(reverse("admin:ace_acerun_do", args=[broken.pk, "resume"]))

        broken.refresh_from_db()
        assert broken.state == "failed"
