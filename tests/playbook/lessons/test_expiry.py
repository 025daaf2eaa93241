"""Rules about unmerged work end when it is merged, and hold on its branch until then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from ace import run as runs
from ace.lessons import ended_work
from ace.task import task as tasks
from playbook.lessons import expiry
from playbook.models import PlaybookDelta, PlaybookEntry


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("PR 214 merged", {"pr 214"}),
        ("pull request #7 is merged", {"pr 7"}),
        ("branch fix/login merged", {"branch fix/login"}),
        ("#12 and branch `x` gone", {"pr 12", "branch x"}),
        ("the migration is done", set()),
        ("2026-13-41", set()),
    ],
)
def test_a_sentence_names_work(text, work):
    assert expiry.read(text).work == work


@pytest.mark.parametrize(
    ("command", "result", "ended"),
    [
        ("gh pr merge 214 --squash", "Merged", {"pr 214"}),
        ("git pull", "Merge pull request #8 from a/b", {"pr 8"}),
        ('gh pr view 9 --json state', '{"state":"MERGED"}', {"pr 9"}),
        ("gh pr view 9 --json state", '{"state":"OPEN"}', set()),
        ("git branch -d fix/a", "Deleted branch fix/a (was 1a2b3c4).", {"branch fix/a"}),
        ("git fetch -p", " - [deleted]         (none)     -> origin/fix/b", {"branch fix/b"}),
        ("echo 'gh pr merge 3'", "gh pr merge 3", set()),
    ],
)  # fmt: skip
def test_calls_show_what_has_ended(command, result, ended):
    call = {"tool_name": "Bash", "arguments": {"command": command}, "result": result}

    assert ended_work.find(tasks.parse({"tool_usage": [call]})) == ended


@pytest.mark.django_db
class TestARule:
    @pytest.fixture
    def expiring(self, write_rule):
        return lambda until: write_rule(expires_when=until)

    @pytest.fixture
    def write_rule(self, write):
        def make(**fields):
            entry = write()
            for name, value in fields.items():
                setattr(entry, name, value)
            entry.save()
            return entry

        return make

    def test_it_is_in_doubt_once_its_work_is_merged(self, expiring, project, alice):
        entry = expiring("PR 214 merged")
        call = {
            "tool_name": "Bash",
            "arguments": {"command": "gh pr merge 214"},
            "result": "Merged",
        }

        for _ in range(2):
            task = {"agent_id": "a", "goal": "Merge", "tool_usage": [call]}
            runs.complete(project, task, alice)

        [delta] = PlaybookDelta.objects.filter(entry=entry, operation="deprecate")
        assert (delta.status, delta.payload["doubt"]) == ("pending", "expired")
        assert "PR 214 merged" in delta.reason

    def test_it_is_in_doubt_after_its_day(self, expiring, project, alice):
        today = timezone.now().date()
        expiring(f"{today + timedelta(1)}")

        assert expiry.doubt_ended(project, (), alice) == []

        entry = PlaybookEntry.objects.get()
        entry.expires_when = f"until {today - timedelta(1)}"
        entry.save()
        [delta] = expiry.doubt_ended(project, (), alice)
        assert delta.entry_id == entry.pk

    def test_it_is_given_on_its_branch_alone(self):
        rule = expiry.read("branch fix/login merged")

        assert rule.holds_on("fix/login")
        assert not rule.holds_on("main")
        assert rule.holds_on("")
        assert expiry.read("PR 3 merged").holds_on("main")
