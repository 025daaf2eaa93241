from __future__ import annotations

import pytest

from ace.reflect import by_rules
from ace.rules import task as tasks
from playbook.models import PlaybookEntry

pytestmark = pytest.mark.django_db

FAILED = {
    "tool_name": "book_seat",
    "arguments": {"flight": "HAT7"},
    "result": "Error: `cabin_class` is a required field",
}


@pytest.fixture
def vote(project):
    """The vote of a run that was given one entry: its kind, or None."""

    def cast(content, outcome, *, cited=True, calls=(FAILED,)):
        entry = PlaybookEntry(project=project, content=content, category="gotchas")
        task = tasks.parse({"goal": "x", "outcome": outcome, "tool_usage": [*calls]})
        read = by_rules.reflect(
            task, project, entries=[entry], cited_ids={entry.pk} if cited else set()
        )
        return next((vote.kind for vote in read.votes), None)

    return cast


class TestVotes:
    @pytest.mark.parametrize(
        ("content", "outcome", "cited", "kind"),
        [
            ("Use the client cache.", "success", True, "helpful"),
            ("Use the client cache.", "success", False, "neutral"),
            ("Call `book_seat` last.", "failure", True, "harmful"),
            ("Leave out `cabin_class`.", "failure", True, "harmful"),
            ("Call `book_seat` last.", "failure", False, "neutral"),
            ("Use the client cache.", "failure", True, "neutral"),
            ("Call `book_seat` last.", "partial", True, "neutral"),
            ("Call `book_seat` last.", "unknown", True, None),
        ],
    )
    def test_it_depends_on_citation_outcome_and_implication(
        self, vote, content, outcome, cited, kind
    ):
        assert vote(content, outcome, cited=cited) == kind

    def test_a_failure_without_evidence_implicates_nobody(self, vote):
        assert vote("Call `book_seat` last.", "failure", calls=()) == "neutral"
