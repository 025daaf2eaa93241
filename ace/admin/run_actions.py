"""Actions on the page of a run: revert the changes of the run, or resume the run."""

from __future__ import annotations

from ace import run as runs
from ace.models import AceRun
from common.admin.actions import AdminAction
from common.caller import Caller, Role
from playbook.review import revert
from playbook.review.revert import RevertResult


def _revert(run: AceRun, caller: Caller, reason: str) -> RevertResult:
    target = revert.run_target(run.project, run.pk, caller)
    return revert.revert_changes(run.project, target, caller, reason=reason)


REVERT = AdminAction(
    "revert",
    "Revert its changes",
    Role.CURATOR,
    _revert,
    "its changes to the playbook were reverted",
    is_possible=lambda run, caller: run.state != AceRun.RunState.RUNNING,
    text_label="Why",
)
RESUME = AdminAction(
    "resume",
    "Resume",
    Role.WRITER,
    lambda run, caller, text: runs.resume(run, caller),
    "resumed; its phases show the progress",
    is_possible=lambda run, caller: run.state != AceRun.RunState.DONE,
)
ALL_ACTIONS = [REVERT, RESUME]
