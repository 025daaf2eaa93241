from __future__ import annotations

import pytest
from django.urls import reverse

from ace import run as runs
from common.admin import panels
from playbook.models import PlaybookDelta
from tests.admin.conftest import SCRIPT

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project, alice):
    return runs.complete(
        project,
        {
            "agent_id": "coder",
            "goal": "Mend the import",
            "result": "Mended.",
            "feedback": f"{SCRIPT} seen. Always run `make check` before you push.",
            "feedback_source": "human",
            "outcome": "success",
            "tool_usage": [
                {
                    "tool_name": "t",
                    "arguments": {},
                    "result": "HTTP 429 Too Many Requests",
                }
            ],
        },
        alice,
    )


MARKED = "<mark>Always run `make check` before you push.</mark>"


class TestQuotes:
    def test_the_page_of_a_run_marks_them_in_their_text(self, run, curator):
        page = reverse("admin:ace_acerun_change", args=[run.pk])

        html = curator.get(page).content.decode()

        assert MARKED in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
        assert "<script>alert(1)" not in html

    def test_the_page_of_a_delta_marks_them_too(self, run, curator):
        delta = PlaybookDelta.objects.get(run_id=run.pk)
        page = reverse("admin:playbook_playbookdelta_change", args=[delta.pk])

        html = curator.get(page).content.decode()

        assert MARKED in html
        assert "<script>alert(1)" not in html

    def test_a_quote_that_is_not_in_the_text_is_displayed_alone(self, run, curator):
        deltas = PlaybookDelta.objects.filter(run_id=run.pk)
        deltas.update(evidence=[{"field": "goal", "start": 0, "end": 4, "quote": "No"}])
        page = reverse("admin:playbook_playbookdelta_change", args=[deltas.get().pk])

        html = curator.get(page).content.decode()

        assert "<mark>" not in html

    def test_the_page_of_a_run_shows_its_observations(self, run, curator):
        page = reverse("admin:ace_acerun_change", args=[run.pk])

        assert "RATE_LIMIT" in curator.get(page).content.decode()


class TestMarked:
    def test_a_text_at_both_ends_has_no_dots(self):
        assert "…" not in panels.highlight("abc", 1, 2)

    def test_a_long_quote_is_cut(self):
        assert len(panels.highlight("x" * 9_000, 0, 9_000)) < 2_300
