"""Which vote a run casts on the entries that its agent cited or was given."""

from __future__ import annotations

import pytest

from playbook.models import PlaybookChange

pytestmark = pytest.mark.django_db

FAILED = {
    "tool_name": "book_seat",
    "arguments": {"flight": "HAT7"},
    "result": "Error: `cabin_class` is a required field",
}


@pytest.fixture
def vote(complete, write):
    """The vote of a run that was given one entry: its kind, or None."""

    def cast(content, outcome, *, cited=True, calls=(FAILED,)):
        entry = write(content)
        named = "cited_entry_ids" if cited else "injected_entry_ids"
        fields = {"feedback": "", "feedback_source": "agent", named: [entry.label]}
        complete(goal="x", outcome=outcome, tool_usage=[*calls], **fields)
        votes = PlaybookChange.objects.filter(entry_id=entry.pk, action="vote")
        kinds = ("helpful", "harmful", "neutral")
        return next((k for v in votes for k in kinds if k in v.after), None)

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
