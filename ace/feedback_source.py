"""Check that the caller may claim the feedback_source that its request names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ace.rules.tool_calls.runner_reports import count_tests
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
)


class FeedbackSourceRefused(errors.Refusal):
    """This caller may not claim this feedback_source; `agent` is always allowed."""

    code = "feedback_source"


def accept(data: Mapping[str, Any], project: Project, caller: Caller) -> dict[str, Any]:
    """Check the feedback_source; return the fields of the request that a run stores."""
    _check(data, project, caller)
    return {name: data[name] for name in REQUEST_FIELDS if data.get(name) is not None}


def _check(data: Mapping[str, Any], project: Project, caller: Caller) -> None:
    """Refuse `human` from a caller who is no curator, and `test` without test counts.

    The source decides how much the feedback counts (docs/ace.md, "Policy").
    """
    source = data["feedback_source"]
    if source == "human" and not caller.may(Role.CURATOR, project.pk):
        raise FeedbackSourceRefused(
            "feedback_source human needs a curator's key; use agent.",
            errors={"feedback_source": ["human needs the role curator."]},
        )
    if source == "test" and not count_tests(data.get("feedback") or ""):
        raise FeedbackSourceRefused(
            "feedback_source test needs a feedback with test counts, such as "
            "'3 passed, 1 failed'.",
            errors={"feedback_source": ["The feedback has no test counts."]},
        )
