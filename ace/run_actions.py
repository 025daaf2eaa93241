"""What a person does to a run on its page."""

from __future__ import annotations

from ace import run as runs
from ace.models import AceRun
from common.admin.actions import AdminAction
from common.caller import Caller, Role
from playbook.review import revert
from playbook.review.revert import RevertResult


def _revert(run: AceRun, caller: Caller, typed: str) -> RevertResult:
    target = revert.run_target(run.project, run.pk, caller)
    return revert.revert_changes(run.project, target, caller, reason=typed)


REVERT = AdminAction(
    "revert",
    "Take back what it changed",
    Role.CURATOR,
    _revert,
    "its changes of the playbook are taken back",
    is_possible=lambda run: run.state != AceRun.State.RUNNING,
    text_label="Why",
)
RESUME = AdminAction(
    "resume",
    "Resume",
    Role.WRITER,
    lambda run, caller, text: runs.resume(run, caller),
    "resumed; its phases tell how far it came",
    is_possible=lambda run: run.state != AceRun.State.DONE,
)
ALL_ACTIONS = [REVERT, RESUME]
