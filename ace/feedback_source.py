"""Decide whose word the feedback of a finished task is.

A claim that the caller may not make counts as the agent's own word: the task is stored with
the claim, and a note says what it counts as and what would change that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ace.task.runner_reports import count_tests
from common import errors
from common.caller import Caller, Role
from projects.models import Project

# The fields of the request that a run stores.
REQUEST_FIELDS = (
    "agent_id",
    "goal",
    "result",
    "tool_usage",
    "feedback",
    "outcome",
    "feedback_source",
    "cited_entry_ids",
    "injected_entry_ids",
    "session_id",
    "branch",
    "lessons",
)
# Which caller may claim a source, for the note.
_NEEDS = {
    "human": "a key or a person with the role curator",
    "test": "a key that may attest; an owner sets may_attest with PATCH /keys/{id}",
    "environment": "a key that may attest; an owner sets may_attest with PATCH /keys/{id}",
}


class FeedbackSourceRefused(errors.Refusal):
    """The request lacks what this feedback_source needs; `agent` is always allowed."""

    code = "feedback_source"


def accept(data: Mapping[str, Any], project: Project, caller: Caller) -> dict[str, Any]:
    """Return the fields of the request that a run stores.

    If the caller may not claim the feedback_source, `counted_as` is added.
    """
    claimed = data["feedback_source"]
    if claimed == "test" and not count_tests(data.get("feedback") or ""):
        raise FeedbackSourceRefused(
            "feedback_source test needs a feedback with test counts, such as "
            "'3 passed, 1 failed'.",
            errors={"feedback_source": ["The feedback has no test counts."]},
        )
    kept = {name: data[name] for name in REQUEST_FIELDS if data.get(name) is not None}
    if not _may_claim(claimed, project, caller):
        kept["counted_as"] = "agent"
    return kept


def _may_claim(source: str, project: Project, caller: Caller) -> bool:
    """Whether the project believes this caller about this source (docs/ace.md, "Policy")."""
    if source == "human":
        return caller.may(Role.CURATOR, project.pk)
    return source == "agent" or caller.attests_in(project.pk)


def downgrade_notes(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the note about a claim that does not count."""
    if "counted_as" not in request:
        return ()
    claimed = request["feedback_source"]
    return (
        f"feedback_source {claimed} counts as {request['counted_as']}: "
        f"{claimed} needs {_NEEDS[claimed]}",
    )
